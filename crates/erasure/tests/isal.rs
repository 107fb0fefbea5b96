//! The same bytes as ISA-L, which Ozone's native coders use: Debian's library is loaded and run for
//! comparison.

use std::ffi::{c_int, c_uchar};

use erasure::{CellLengths, Codec, ReplicaIndex, kernel};
use libloading::{Library, Symbol};

use crate::{SCHEMES, muts, noise, pick, refs, scheme};

type GenerateMatrix = unsafe extern "C" fn(*mut c_uchar, c_int, c_int);
type Invert = unsafe extern "C" fn(*mut c_uchar, *mut c_uchar, c_int) -> c_int;
type InitTables = unsafe extern "C" fn(c_int, c_int, *const c_uchar, *mut c_uchar);
type EncodeData = unsafe extern "C" fn(
    c_int,
    c_int,
    c_int,
    *mut c_uchar,
    *const *const c_uchar,
    *const *mut c_uchar,
);

/// The functions of `erasure_code.h` and `gf_vect_mul.h`.
struct Isal(Library);

impl Isal {
    fn load() -> Self {
        // SAFETY: the library's initialisers only select functions for the processor.
        let library = unsafe { Library::new("libisal.so.2") };
        Self(
            library.expect("ISA-L (Debian: libisal2) is missing: `scripts/setup test` installs it"),
        )
    }

    fn symbol<F>(&self, name: &str) -> Symbol<'_, F> {
        // SAFETY: callers pass a function's name and type as declared in the library's headers.
        unsafe { self.0.get(name.as_bytes()) }.unwrap()
    }

    /// d + p rows of d coefficients.
    fn matrix(&self, d: usize, p: usize) -> Vec<u8> {
        let mut matrix = vec![0; (d + p) * d];
        let generate: Symbol<GenerateMatrix> = self.symbol("gf_gen_cauchy1_matrix");
        // SAFETY: the matrix has m·k bytes.
        unsafe { generate(matrix.as_mut_ptr(), (d + p) as c_int, d as c_int) };
        matrix
    }

    fn invert(&self, mut matrix: Vec<u8>, d: usize) -> Vec<u8> {
        let mut inverse = vec![0; d * d];
        let invert: Symbol<Invert> = self.symbol("gf_invert_matrix");
        // SAFETY: both have n·n bytes.
        assert_eq!(unsafe { invert(matrix.as_mut_ptr(), inverse.as_mut_ptr(), d as c_int) }, 0);
        inverse
    }

    /// Multiplies rows of coefficients with cells of one length.
    fn multiply(&self, rows: &[u8], cells: &[Vec<u8>]) -> Vec<Vec<u8>> {
        let (k, count, length) = (cells.len(), rows.len() / cells.len(), cells[0].len());
        let mut tables = vec![0; 32 * rows.len()];
        let mut outputs = vec![vec![0; length]; count];
        let inputs: Vec<*const u8> = cells.iter().map(|cell| cell.as_ptr()).collect();
        let to: Vec<*mut u8> = outputs.iter_mut().map(|output| output.as_mut_ptr()).collect();
        let init: Symbol<InitTables> = self.symbol("ec_init_tables");
        let encode: Symbol<EncodeData> = self.symbol("ec_encode_data");
        let (k, rows_count, tables_at) = (k as c_int, count as c_int, tables.as_mut_ptr());
        // SAFETY: the tables have 32·k·rows bytes, every cell and output `length` bytes.
        unsafe {
            init(k, rows_count, rows.as_ptr(), tables_at);
            encode(length as c_int, k, rows_count, tables_at, inputs.as_ptr(), to.as_ptr());
        }
        outputs
    }
}

#[test]
fn parity_is_that_of_isal() {
    let isal = Isal::load();
    for name in SCHEMES.into_iter().filter(|name| name.starts_with("rs")) {
        let scheme = scheme(name);
        let (d, p) = (scheme.data(), scheme.parity());
        let matrix = isal.matrix(d, p);
        for length in [1, 31, 64, 257, 4096, 70_001] {
            let data: Vec<Vec<u8>> = (0..d).map(|cell| noise(cell as u64 + 9, length)).collect();
            let expected = isal.multiply(&matrix[d * d..], &data);
            for kernel in kernel::supported() {
                let codec = Codec::with_kernel(scheme, kernel);
                let mut parity = vec![vec![0xaa; length]; p];
                codec.encode(&refs(&data), &mut muts(&mut parity)).unwrap();
                assert!(parity == expected, "{name} {} {length}", kernel.name());
            }
        }
    }
}

#[test]
fn what_isal_decodes_we_decode() {
    let isal = Isal::load();
    for name in ["rs-3-2-1024k", "rs-6-3-1024k", "rs-10-4-1024k"] {
        let scheme = scheme(name);
        let (d, p) = (scheme.data(), scheme.parity());
        let (codec, matrix, length) = (Codec::new(scheme), isal.matrix(d, p), 1500);
        let mut cells: Vec<Vec<u8>> = (0..d).map(|cell| noise(cell as u64, length)).collect();
        cells.extend(isal.multiply(&matrix[d * d..], &cells));
        // Every pattern of exactly p lost.
        for lost in (0_u32..1 << (d + p)).filter(|set| set.count_ones() as usize == p) {
            let is_lost = |replica: &ReplicaIndex| lost >> replica.position() & 1 == 1;
            let (wanted, sources): (Vec<_>, Vec<_>) = scheme.replicas().partition(is_lost);
            let rows = |replicas: &[ReplicaIndex]| -> Vec<u8> {
                let row = |r: &ReplicaIndex| matrix[r.position() * d..][..d].to_vec();
                replicas.iter().flat_map(row).collect()
            };
            let data = isal.multiply(&isal.invert(rows(&sources), d), &pick(&cells, &sources));
            let expected = isal.multiply(&rows(&wanted), &data);
            let decoder = codec.decoder(&sources, &wanted).unwrap();
            let mut decoded = vec![vec![0; length]; wanted.len()];
            let sources = pick(&cells, &sources);
            let lengths = CellLengths::equal(length as u64);
            decoder.decode(&lengths, &refs(&sources), &mut muts(&mut decoded)).unwrap();
            assert!(decoded == expected, "{name}, lost {wanted:?}");
        }
    }
}
