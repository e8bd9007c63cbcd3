package tail

import (
	"errors"
	"io/fs"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// File is where a tail lies.
type File struct {
	Path             string
	FS               vfs.FS
	Map              func(path string, size int) (Memory, error) // nil: there can be none
	Identity         Identity
	Slots, SlotBytes int // of those that are made
}

// Possible reports whether there can be a tail: the system maps files, and tells its boots apart.
func (f *File) Possible() bool { return f.Map != nil && f.Identity.Boot != [16]byte{} }

// Read returns what is in the file, and whether that is all that a process of this store has left since the machine was
// booted. One that is not there, or cannot be mapped, has nothing.
func (f *File) Read() (kept []Chunk, ours bool, err error) {
	if !f.Possible() {
		return nil, false, nil
	}
	m, err := f.Map(f.Path, 0)
	if err != nil {
		if _, statErr := f.FS.Stat(f.Path); errors.Is(err, errors.ErrUnsupported) || errors.Is(statErr, fs.ErrNotExist) {
			return nil, false, nil
		}
		return nil, false, err
	}
	kept, ours, err = Read(m, f.Identity)
	return kept, ours, errors.Join(err, m.Close())
}

// Make makes an empty tail in the place of what is there.
func (f *File) Make() (*Tail, error) {
	m, err := f.Map(f.Path, Size(f.Slots, f.SlotBytes))
	if err != nil {
		return nil, err
	}
	t, err := New(m, f.Slots, f.SlotBytes, f.Identity)
	if err != nil {
		return nil, errors.Join(err, m.Close())
	}
	return t, nil
}

// Remove removes the file, if there is one. Memory that is mapped stays.
func (f *File) Remove() error {
	if f.Map == nil {
		return nil
	}
	if err := f.FS.Remove(f.Path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
