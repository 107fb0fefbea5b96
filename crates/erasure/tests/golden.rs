//! Parity bytes computed by Ozone's own coder: they are on disks, and can never change.

use erasure::{Codec, kernel};

use crate::{muts, refs, scheme};

fn encode(name: &str, kernel: &'static dyn kernel::Kernel, data: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let codec = Codec::with_kernel(scheme(name), kernel);
    let mut parity = vec![vec![0xee; data[0].len()]; codec.scheme().parity()];
    codec.encode(&refs(data), &mut muts(&mut parity)).unwrap();
    parity
}

#[test]
fn four_byte_cells_have_ozones_parity() {
    let cells = |from: u8, count: u8| -> Vec<Vec<u8>> {
        (0..count).map(|cell| (0..4).map(|at| from + 4 * cell + at).collect()).collect()
    };
    for (name, data, expected) in [
        ("rs-3-2-1024k", cells(1, 3), &["71fc87ff", "cb78e252"][..]),
        ("rs-6-3-1024k", cells(1, 6), &["7997cdef", "0ce2b8d6", "f3c82ada"]),
        ("xor-2-1-1024k", cells(1, 2), &["0404040c"]),
    ] {
        for kernel in kernel::supported() {
            let parity: Vec<String> = encode(name, kernel, &data).iter().map(hex::encode).collect();
            assert_eq!(parity, expected, "{name} {}", kernel.name());
        }
    }
}

#[test]
fn mebibyte_cells_have_the_hashes_of_ozones_parity() {
    let data = |cells: u64| -> Vec<Vec<u8>> {
        let byte = |cell: u64, at: u64| (31 * at + 131 * cell + 7 * (at >> 8)) as u8;
        (0..cells).map(|cell| (0..1 << 20).map(|at| byte(cell, at)).collect()).collect()
    };
    let hash = |cell: &Vec<u8>| -> u64 {
        let step = |hash: u64, &byte: &u8| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3);
        cell.iter().fold(1_469_598_103_934_665_603, step)
    };
    for (name, cells, expected) in [
        ("rs-3-2-1024k", 3, &[0xdfeb_9f76_6266_cf83, 0x331b_2873_b031_1383][..]),
        ("rs-6-3-1024k", 6, &[0x4ce9_d114_5450_3083, 0x5f4d_4c7d_5ebc_9b83, 0xe74d_6808_cda2_8b83]),
        (
            "rs-10-4-1024k",
            10,
            &[
                0xd6c4_d2af_7368_8b83,
                0x8b11_0c40_162d_7183,
                0x6356_2d0c_ca97_a383,
                0x002c_703c_c27e_6b83,
            ],
        ),
    ] {
        let data = data(cells);
        for kernel in kernel::supported() {
            let parity: Vec<u64> = encode(name, kernel, &data).iter().map(hash).collect();
            assert_eq!(parity, expected, "{name} {}", kernel.name());
        }
    }
}

/// The parity of the bytes 1, 0, 0, ... is the first column of the matrix, and so on.
#[test]
fn the_matrices_are_ozones() {
    for (name, rows) in [
        ("rs-3-2-1024k", &["f48e01", "47a77a"][..]),
        ("rs-6-3-1024k", &["7aba47a78ef4", "ba7aa747f48e", "ad9ddd983daa"]),
        (
            "rs-10-4-1024k",
            &[
                "dd98ad9d5d963daa8ef4",
                "98dd9dad965daa3df48e",
                "3daa5d96ad9ddd9847a7",
                "aa3d965d9dad98dda747",
            ],
        ),
        ("xor-2-1-1024k", &["0101"]),
    ] {
        let d = scheme(name).data();
        let unit: Vec<Vec<u8>> =
            (0..d).map(|cell| (0..d).map(|at| u8::from(at == cell)).collect()).collect();
        let parity = encode(name, kernel::fastest(), &unit);
        assert_eq!(parity.iter().map(hex::encode).collect::<Vec<_>>(), rows, "{name}");
    }
}
