package main

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
)

// logitsRows are rows of one length, each as little-endian float32. An engine
// has them on its device.
type logitsRows struct {
	vocabSize int32
	rows      [][]byte
}

// readRows reads the BF16 tensor `logits`, [rows, vocab], of a safetensors
// file: the length of a JSON header, the header, the data.
func readRows(path string) (*logitsRows, error) {
	file, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(file) < 8 {
		return nil, fmt.Errorf("%s is too short", path)
	}
	length, rest := binary.LittleEndian.Uint64(file), file[8:]
	if length > uint64(len(rest)) {
		return nil, fmt.Errorf("%s is too short", path)
	}
	var header struct {
		Logits struct {
			Shape       [2]int
			DataOffsets [2]int `json:"data_offsets"`
		}
	}
	if err := json.Unmarshal(rest[:length], &header); err != nil {
		return nil, err
	}
	logits, data := header.Logits, rest[length:]
	begin, count, vocab := logits.DataOffsets[0], logits.Shape[0], logits.Shape[1]
	if count < 1 || vocab < 1 || begin < 0 || begin+2*count*vocab > len(data) {
		return nil, fmt.Errorf("%s has no whole tensor logits", path)
	}
	rows := &logitsRows{vocabSize: int32(vocab)}
	for i := 0; i < count; i++ {
		row := data[begin+2*vocab*i:][:2*vocab]
		wide := make([]byte, 4*vocab)
		for j := 0; j < vocab; j++ {
			copy(wide[4*j+2:], row[2*j:2*j+2]) // BF16 is the upper half of a float32
		}
		rows.rows = append(rows.rows, wide)
	}
	return rows, nil
}
