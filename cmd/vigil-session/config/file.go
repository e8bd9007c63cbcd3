package config

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"time"
)

// maxFile is far beyond any configuration, and far below what hurts.
const maxFile = 1 << 20

// File is a configuration file, and what was last read from it.
type File struct {
	path string
	text []byte // nil before the first reading
}

// NewFile returns the file at path, which is not read yet.
func NewFile(path string) *File { return &File{path: path} }

// Load reads the file. changed is false if it holds what it held when it was
// last read, whether that was good or bad; the Config is then of no use. An
// epoch must lie before now.
func (f *File) Load(now time.Time) (c Config, changed bool, err error) {
	text, err := f.read()
	if err != nil {
		return Config{}, true, fmt.Errorf("configuration: %w", err)
	}
	if f.text != nil && bytes.Equal(text, f.text) {
		return Config{}, false, nil
	}
	f.text = text
	c, err = Parse(text, now)
	if err != nil {
		return Config{}, true, fmt.Errorf("configuration %s: %w", f.path, err)
	}
	return c, true, nil
}

func (f *File) read() ([]byte, error) {
	file, err := os.Open(f.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(text) > maxFile {
		err = fmt.Errorf("%s is longer than %d bytes", f.path, maxFile)
	}
	return append([]byte{}, text...), err
}
