//! Rectangles and text on pixels, and their PNG file.

use font8x8::legacy::BASIC_LEGACY;
pub use png::EncodingError;

/// Red, green and blue.
pub type Color = [u8; 3];

/// Width and height of a character in pixels.
pub const GLYPH: usize = 8;

/// A picture, white at first. What is drawn outside of it is left out.
pub struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    /// A picture of so many pixels.
    pub fn new(width: usize, height: usize) -> Canvas {
        Canvas { width, height, pixels: vec![255; 3 * width * height] }
    }

    /// Fills a rectangle.
    pub fn fill(&mut self, left: usize, top: usize, width: usize, height: usize, color: Color) {
        let (right, bottom) = ((left + width).min(self.width), (top + height).min(self.height));
        for row in top..bottom {
            for column in left..right {
                self.pixels[3 * (row * self.width + column)..][..3].copy_from_slice(&color);
            }
        }
    }

    /// Writes characters of ASCII; others become question marks.
    pub fn text(&mut self, left: usize, top: usize, text: &str, color: Color) {
        for (number, character) in text.chars().enumerate() {
            let index = if character.is_ascii() { character as usize } else { '?' as usize };
            for (row, bits) in BASIC_LEGACY[index].iter().enumerate() {
                for column in (0..GLYPH).filter(|column| bits >> column & 1 != 0) {
                    self.fill(left + number * GLYPH + column, top + row, 1, 1, color);
                }
            }
        }
    }

    /// The picture as a PNG file.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn encode(&self) -> Result<Vec<u8>, EncodingError> {
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, self.width as u32, self.height as u32);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header()?;
        writer.write_image_data(&self.pixels)?;
        writer.finish()?;
        Ok(file)
    }
}
