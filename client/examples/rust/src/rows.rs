//! The logits rows of a safetensors file: an engine has them on its device.

use std::error::Error;
use std::path::Path;

/// Rows of one length, each as little-endian float32.
pub struct Rows {
    pub vocab_size: i32,
    pub rows: Vec<Vec<u8>>,
}

impl Rows {
    /// Reads the BF16 tensor `logits`, [rows, vocab]: the length of a JSON header, the header, the
    /// data. BF16 is the upper half of a float32.
    pub fn read(path: &Path) -> Result<Rows, Box<dyn Error>> {
        let file = std::fs::read(path)?;
        let (length, rest) = file.split_first_chunk().ok_or("the file is too short")?;
        let (header, data) = rest
            .split_at_checked(u64::from_le_bytes(*length).try_into()?)
            .ok_or("the file is too short")?;
        let header: serde_json::Value = serde_json::from_slice(header)?;
        let logits = &header["logits"];
        let vocab = logits["shape"][1].as_u64().ok_or("no tensor logits")? as usize;
        let begin = logits["data_offsets"][0].as_u64().ok_or("no data_offsets")? as usize;
        let end = logits["data_offsets"][1].as_u64().ok_or("no data_offsets")? as usize;
        let data = data.get(begin..end).ok_or("the file is too short")?;
        let wide = |row: &[u8]| row.chunks_exact(2).flat_map(|e| [0, 0, e[0], e[1]]).collect();
        Ok(Rows {
            vocab_size: vocab.try_into()?,
            rows: data.chunks_exact(2 * vocab).map(wide).collect(),
        })
    }
}
