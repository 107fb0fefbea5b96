//! The field GF(2^8) over x^8 + x^4 + x^3 + x^2 + 1, and tables of its products, computed at
//! compile time.

// Every index and shift is bounded by its loop, and these loops run at compile time.
#![allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]

/// The reduction polynomial, without its highest term.
const POLYNOMIAL: u8 = 0x1d;

const fn double(a: u8) -> u8 {
    (a << 1) ^ (if a & 0x80 == 0 { 0 } else { POLYNOMIAL })
}

const fn products_of(c: u8) -> [u8; 256] {
    let mut row = [0; 256];
    let mut power = c;
    let mut bit = 1;
    while bit < 256 {
        let mut below = 0;
        while below < bit {
            row[bit + below] = row[below] ^ power;
            below += 1;
        }
        power = double(power);
        bit *= 2;
    }
    row
}

const fn products() -> [[u8; 256]; 256] {
    let mut table = [[0; 256]; 256];
    let mut c = 0;
    while c < 256 {
        table[c] = products_of(c as u8);
        c += 1;
    }
    table
}

const fn inverses() -> [u8; 256] {
    let mut table = [0; 256];
    let mut a = 1;
    while a < 256 {
        let mut b = 1;
        while PRODUCTS[a][b] != 1 {
            b += 1;
        }
        table[a] = b as u8;
        a += 1;
    }
    table
}

/// Products of one constant with the 16 values of the low nibble, then of the high nibble.
#[repr(align(32))]
pub struct Nibbles(pub [u8; 32]);

const fn nibbles() -> [Nibbles; 256] {
    let mut table = [const { Nibbles([0; 32]) }; 256];
    let mut c = 0;
    while c < 256 {
        let mut n = 0;
        while n < 16 {
            table[c].0[n] = PRODUCTS[c][n];
            table[c].0[16 + n] = PRODUCTS[c][n << 4];
            n += 1;
        }
        c += 1;
    }
    table
}

#[cfg(any(test, target_arch = "x86_64"))]
const fn bit_matrices() -> [u64; 256] {
    let mut table = [0; 256];
    let mut c = 0;
    while c < 256 {
        let mut row = 0;
        while row < 8 {
            let mut column = 0;
            while column < 8 {
                let bit = (PRODUCTS[c][1 << column] >> row) & 1;
                // Intel's affine instructions have row 0 in the highest byte.
                table[c] |= (bit as u64) << (8 * (7 - row) + column);
                column += 1;
            }
            row += 1;
        }
        c += 1;
    }
    table
}

/// `PRODUCTS[a][b]` is a·b.
pub static PRODUCTS: [[u8; 256]; 256] = products();
static INVERSES: [u8; 256] = inverses();
/// `NIBBLES[c]` for kernels with nibble look-ups.
pub static NIBBLES: [Nibbles; 256] = nibbles();
/// `BIT_MATRICES[c]` multiplies by c the bits of a byte, in the order of `gf2p8affineqb`.
#[cfg(any(test, target_arch = "x86_64"))]
pub static BIT_MATRICES: [u64; 256] = bit_matrices();

/// a·b.
pub fn multiply(a: u8, b: u8) -> u8 {
    PRODUCTS[usize::from(a)][usize::from(b)]
}

/// The b with a·b = 1; `None` for 0.
pub fn inverse(a: u8) -> Option<u8> {
    (a != 0).then(|| INVERSES[usize::from(a)])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shift and add, by definition.
    fn slowly(mut a: u8, b: u8) -> u8 {
        let mut product = 0;
        for bit in 0..8 {
            if b >> bit & 1 == 1 {
                product ^= a;
            }
            a = double(a);
        }
        product
    }

    #[test]
    fn tables_are_products() {
        for a in 0..=255_u8 {
            for b in 0..=255_u8 {
                let expected = slowly(a, b);
                assert_eq!(multiply(a, b), expected);
                let nibbles = &NIBBLES[usize::from(a)].0;
                let looked_up = nibbles[usize::from(b & 15)] ^ nibbles[16 + usize::from(b >> 4)];
                assert_eq!(looked_up, expected);
                let matrix = BIT_MATRICES[usize::from(a)].to_be_bytes();
                let affine = (0..8).map(|row| ((matrix[row] & b).count_ones() as u8 & 1) << row);
                assert_eq!(affine.fold(0, |byte, bit| byte | bit), expected);
            }
        }
    }

    #[test]
    fn every_number_but_zero_has_an_inverse() {
        assert_eq!(inverse(0), None);
        for a in 1..=255 {
            assert_eq!(inverse(a).map(|b| multiply(a, b)), Some(1));
        }
    }
}
