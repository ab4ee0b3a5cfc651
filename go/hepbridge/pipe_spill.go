package hepbridge

import (
	"fmt"
	"os"
)

// spill is the temporary file of a window. It exists from the first byte that needs it until close.
// Not safe for concurrent use; its window's lock guards it.
type spill struct {
	directory string
	limit     int64
	file      *os.File
	size      int64
	// failed: the disk did not take the bytes.
	failed bool
}

func (s *spill) hasRoom() bool { return !s.failed && s.size < s.limit }

// append writes at offset, which is the end; false if the file cannot take it.
func (s *spill) append(offset int64, data []byte) bool {
	if s.file == nil {
		file, err := os.CreateTemp(s.directory, "hep-pipe-*")
		if err != nil {
			s.failed = true
			return false
		}
		// Where the system allows it the file has no name from here on: a crash leaves nothing behind.
		_ = os.Remove(file.Name())
		s.file = file
	}
	if _, err := s.file.WriteAt(data, offset); err != nil {
		s.failed = true
		return false
	}
	s.size = offset + int64(len(data))
	return true
}

// read returns size bytes from offset on.
func (s *spill) read(offset, size int64) ([]byte, error) {
	if size == 0 {
		return nil, nil
	}
	data := make([]byte, size)
	if _, err := s.file.ReadAt(data, offset); err != nil {
		return nil, fmt.Errorf("spill file: %w", err)
	}
	return data, nil
}

// clear forgets the bytes.
func (s *spill) clear() {
	s.size = 0
	if s.file != nil {
		_ = s.file.Truncate(0)
	}
}

func (s *spill) close() {
	if s.file == nil {
		return
	}
	name := s.file.Name()
	_ = s.file.Close()
	_ = os.Remove(name)
	s.file = nil
}
