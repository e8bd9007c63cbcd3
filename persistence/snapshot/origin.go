package snapshot

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/fence"
	"github.com/vigildb/vigil/persistence/format"
)

// originName is a file of a snapshot of a member of a group: it tells what the snapshot is of. A store
// that was made of the snapshot has it until it is used for the first time. docs/format.md draws it.
const originName = "ORIGIN"

// originFormat begins the first line of the file; crc32c of what follows the line is behind it.
const originFormat = "vigil origin 1 crc32c "

// Origin is what a snapshot of a member of a group of machines says of itself. The store does not read it.
type Origin struct {
	Group   string // ID of the group, as clients know it
	Node    string // ID of the member
	Address string // of the member, for clients
	// Whole is the snapshot of a whole cluster that this one is a part of, nil if it is none.
	Whole *Whole `json:",omitempty"`
}

// Whole is a snapshot of a cluster of several groups: a snapshot of each, which together have every slot once.
type Whole struct {
	Name  string
	ID    string // drawn by lot: another one of the same name has another ID
	Made  int64  // when it was begun, in milliseconds of Unix time
	Parts []Part // in the order of their groups
}

// Part is what a snapshot of a cluster has of one group.
type Part struct {
	Group string // its ID, as clients know it
	Slots string // as CLUSTER NODES shows them, "0-5460 7000"
}

// Part returns the part that a snapshot is, nil if it is none.
func (o *Origin) Part() *Part {
	if o == nil || o.Whole == nil {
		return nil
	}
	i := slices.IndexFunc(o.Whole.Parts, func(p Part) bool { return p.Group == o.Group })
	if i < 0 {
		return nil
	}
	return &o.Whole.Parts[i]
}

// String names the group, and the cluster's snapshot, that the store comes from.
func (o *Origin) String() string {
	text := fmt.Sprintf("a snapshot of the group %s, made at %s", o.Group, o.Address)
	p := o.Part()
	if p == nil {
		return text
	}
	of := slices.IndexFunc(o.Whole.Parts, func(q Part) bool { return q.Group == p.Group })
	return fmt.Sprintf("part %d of %d of the cluster snapshot %s (%s): slots %s, made at %s", of+1, len(o.Whole.Parts), o.Whole.Name, o.Whole.ID, p.Slots, o.Address)
}

func (o *Origin) encode() ([]byte, error) {
	text, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", originName, err)
	}
	text = append(text, '\n')
	return append(fmt.Appendf(nil, "%s%08x\n", originFormat, format.Checksum(0, text)), text...), nil
}

// decodeOrigin reads what encode wrote.
func decodeOrigin(b []byte) (*Origin, error) {
	first, text, _ := bytes.Cut(b, []byte("\n"))
	o := new(Origin)
	if string(first) != fmt.Sprintf("%s%08x", originFormat, format.Checksum(0, text)) || json.Unmarshal(text, o) != nil ||
		o.Whole != nil && o.Part() == nil {
		return nil, fmt.Errorf("%s does not decode: it is damaged, or of a later version: %w", originName, format.ErrCorrupt)
	}
	return o, nil
}

// WriteOrigin writes the file into a directory, and has it on the device.
func WriteOrigin(fsys vfs.FS, dir string, o *Origin) error {
	b, err := o.encode()
	if err != nil {
		return err
	}
	f, err := fsys.Create(fsys.PathJoin(dir, originName), vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	return fence.SyncDir(fsys, dir)
}

// ReadOrigin returns what the file in a directory says, nil if there is none.
func ReadOrigin(fsys vfs.FS, dir string) (*Origin, error) {
	f, err := fsys.Open(fsys.PathJoin(dir, originName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", originName, err)
	}
	b, err := io.ReadAll(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("read %s: %w", originName, err)
	}
	return decodeOrigin(b)
}

// RemoveOrigin removes the file from a directory, if there is one. It returns when that is on the device.
func RemoveOrigin(fsys vfs.FS, dir string) error {
	err := fsys.Remove(fsys.PathJoin(dir, originName))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = fence.SyncDir(fsys, dir)
	}
	if err != nil {
		return fmt.Errorf("remove %s: %w", originName, err)
	}
	return nil
}
