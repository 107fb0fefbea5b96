//! Kernels touch no byte outside of the buffers, which are surrounded by memory that faults.

use std::ffi::c_void;
use std::ptr;

use erasure::kernel::{Product, supported};
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};

const PAGE: usize = 64 << 10;

/// One accessible page between two that fault.
struct Guarded(*mut c_void);

impl Guarded {
    fn new() -> Self {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping, used only here; its first and last page are not accessed.
        unsafe {
            let at = mmap_anonymous(ptr::null_mut(), 3 * PAGE, access, MapFlags::PRIVATE).unwrap();
            mprotect(at, PAGE, MprotectFlags::empty()).unwrap();
            mprotect(at.byte_add(2 * PAGE), PAGE, MprotectFlags::empty()).unwrap();
            Self(at)
        }
    }

    fn page(&mut self) -> &mut [u8] {
        // SAFETY: the page in the middle is initially zeros, and borrowed as long as the mapping.
        unsafe { std::slice::from_raw_parts_mut(self.0.byte_add(PAGE).cast(), PAGE) }
    }

    /// The first or the last bytes of the page.
    fn slice(&mut self, length: usize, last: bool) -> &mut [u8] {
        let start = if last { PAGE - length } else { 0 };
        &mut self.page()[start..start + length]
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: the mapping of `new`, which is no longer borrowed.
        unsafe { munmap(self.0, 3 * PAGE).unwrap() };
    }
}

#[test]
fn kernels_stay_within_their_buffers() {
    let mut inputs = [Guarded::new(), Guarded::new(), Guarded::new()];
    let mut outputs = [Guarded::new(), Guarded::new()];
    for kernel in supported() {
        for length in (0..=330).chain([4096, PAGE]) {
            for last in [false, true] {
                let inputs: Vec<&[u8]> =
                    inputs.iter_mut().map(|input| &*input.slice(length, last)).collect();
                let mut outputs: Vec<&mut [u8]> =
                    outputs.iter_mut().map(|output| output.slice(length, last)).collect();
                for accumulate in [false, true] {
                    let (range, coefficients) = (0..length, [1, 2, 3, 4, 5, 6]);
                    let product =
                        Product::new(&coefficients, &inputs, &mut outputs, range, accumulate);
                    kernel.multiply(product.unwrap());
                }
            }
        }
    }
}
