//go:build linux || darwin || freebsd

package tail

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// Map maps a file of so many bytes, which it makes if there is none of that size. The file has all
// its blocks afterwards, so that no write to the memory needs room on the disk. With a size
// of 0 the file is taken as it is, and there has to be one.
func Map(path string, size int) (Memory, error) {
	flags := os.O_RDWR | os.O_CREATE
	if size == 0 {
		flags = os.O_RDWR
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping stays
	if size == 0 {
		info, err := f.Stat()
		if err != nil || info.Size() == 0 {
			return mapping(nil), err
		}
		if size = int(info.Size()); int64(size) != info.Size() {
			return nil, fmt.Errorf("%s is %d bytes long", path, info.Size())
		}
	} else if err := provide(f, size); err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	b, err := syscall.Mmap(int(f.Fd()), 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %s: %w", path, err)
	}
	return mapping(b), nil
}

// provide makes a file of another size one of so many zeroes, which are written where the file system
// cannot promise the blocks without that: a hole may find no room later.
func provide(f *os.File, size int) error {
	if info, err := f.Stat(); err != nil || info.Size() == int64(size) {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	if allocate(f, size) == nil {
		return nil
	}
	zero := make([]byte, 256<<10)
	for at := 0; at < size; at += len(zero) {
		if _, err := f.WriteAt(zero[:min(len(zero), size-at)], int64(at)); err != nil {
			return err
		}
	}
	return nil
}

type mapping []byte

func (m mapping) Bytes() []byte { return m }
func (m mapping) Close() error {
	if len(m) == 0 {
		return nil
	}
	return syscall.Munmap(m)
}
