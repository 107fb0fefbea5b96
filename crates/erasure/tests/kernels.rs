//! Every kernel computes the same as the scalar one.

use erasure::kernel::{Kernel, Product, Scalar, supported};
use proptest::prelude::*;

use crate::noise;

/// One product over buffers that begin anywhere in a vector, surrounded by other bytes.
struct Case {
    coefficients: Vec<u8>,
    inputs: Vec<Vec<u8>>,
    outputs: Vec<Vec<u8>>,
    skips: Vec<usize>,
    start: usize,
    length: usize,
    accumulate: bool,
}

impl Case {
    fn new(inputs: usize, outputs: usize, skip: usize, start: usize, length: usize) -> Self {
        let whole = 64 + start + length + 70;
        let buffers = |seed: u64, count: usize| -> Vec<Vec<u8>> {
            (0..count).map(|n| noise(seed + n as u64, whole)).collect()
        };
        Self {
            coefficients: noise(3, inputs * outputs),
            inputs: buffers(100, inputs),
            outputs: buffers(1000, outputs),
            skips: (0..inputs + outputs).map(|n| skip.wrapping_mul(2 * n + 1) % 64).collect(),
            start,
            length,
            accumulate: false,
        }
    }

    /// The outputs with their surrounding bytes.
    fn run(&self, kernel: &dyn Kernel) -> Vec<Vec<u8>> {
        let mut outputs = self.outputs.clone();
        let skips = self.skips.split_at(self.inputs.len());
        let inputs: Vec<&[u8]> =
            self.inputs.iter().zip(skips.0).map(|(input, &skip)| &input[skip..]).collect();
        let mut slices: Vec<&mut [u8]> =
            outputs.iter_mut().zip(skips.1).map(|(output, &skip)| &mut output[skip..]).collect();
        let range = self.start..self.start + self.length;
        let product =
            Product::new(&self.coefficients, &inputs, &mut slices, range, self.accumulate);
        kernel.multiply(product.unwrap());
        outputs
    }

    fn compare(&self) {
        let expected = self.run(&Scalar);
        for kernel in supported() {
            assert!(
                self.run(kernel) == expected,
                "{}: {} inputs, {} outputs, skips {:?}, {} bytes from {}, accumulate {}",
                kernel.name(),
                self.inputs.len(),
                self.outputs.len(),
                self.skips,
                self.length,
                self.start,
                self.accumulate
            );
        }
    }
}

#[test]
fn the_scalar_kernel_does_what_the_definition_says() {
    // 2·x is x shifted, and the polynomial subtracted; 3·x is 2·x and x.
    let (input, mut one, mut two) = ([0x01, 0x80, 0xff, 0x53], [0; 4], [9; 4]);
    let mut outputs: [&mut [u8]; 2] = [&mut one, &mut two];
    let inputs: [&[u8]; 2] = [&input, &input];
    let product = Product::new(&[2, 0, 2, 1], &inputs, &mut outputs, 0..4, false).unwrap();
    Scalar.multiply(product);
    assert_eq!(one, [0x02, 0x1d, 0xe3, 0xa6]);
    assert_eq!(two, [0x03, 0x9d, 0x1c, 0xf5]);
}

#[test]
fn the_vectors_of_this_machine_are_tried() {
    let names: Vec<&str> = supported().iter().map(|kernel| kernel.name()).collect();
    assert_eq!(names[0], "scalar");
    #[cfg(target_arch = "x86_64")]
    {
        let gfni = is_x86_feature_detected!("avx512bw") && is_x86_feature_detected!("gfni");
        assert_eq!(names.contains(&"avx2"), is_x86_feature_detected!("avx2"));
        assert_eq!(names.contains(&"avx512-gfni"), gfni);
    }
    #[cfg(target_arch = "aarch64")]
    assert!(names.contains(&"neon"));
}

#[test]
fn kernels_agree_at_every_length() {
    for length in 0..=600 {
        for outputs in [1, 3, 4] {
            let mut case = Case::new(3, outputs, length % 64, length % 5, length);
            case.compare();
            case.accumulate = true;
            case.compare();
        }
    }
}

#[test]
fn kernels_agree_at_every_alignment_and_for_all_coefficients() {
    for skip in 0..64 {
        let mut case = Case::new(4, 5, skip, 0, 517);
        // Among them 0 and 1.
        let coefficients = (0..20).map(|n| (skip * 4 + n) as u8);
        case.coefficients = coefficients.collect();
        case.compare();
    }
}

#[test]
fn a_product_of_buffers_that_do_not_fit_is_none() {
    let inputs: [&[u8]; 2] = [&[0; 8], &[0; 7]];
    let mut output = [0; 8];
    let mut fits = |coefficients: &[u8], range| {
        Product::new(coefficients, &inputs, &mut [&mut output], range, false).is_some()
    };
    assert!(fits(&[1, 2], 0..7));
    assert!(!fits(&[1, 2], 0..8), "the second input has 7 bytes");
    assert!(!fits(&[1], 0..7) && !fits(&[1, 2, 3], 0..7), "a coefficient for each");
    #[allow(clippy::reversed_empty_ranges)]
    let reversed = 5..4;
    assert!(!fits(&[1, 2], reversed));
    assert!(!fits(&[1, 2], 0..usize::MAX) && !fits(&[1, 2], usize::MAX..usize::MAX));
    assert!(Product::new(&[], &[], &mut [&mut [0; 3][..], &mut []], 0..1, false).is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn kernels_agree(
        inputs in 0_usize..20,
        outputs in 0_usize..10,
        skip in 0_usize..64,
        start in 0_usize..300,
        length in 0_usize..2000,
        accumulate: bool,
    ) {
        let mut case = Case::new(inputs, outputs, skip, start, length);
        case.accumulate = accumulate;
        case.compare();
    }
}
