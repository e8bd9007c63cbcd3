package sim

import (
	"bytes"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"

	"github.com/cockroachdb/pebble/v2/vfs"

	"github.com/vigildb/vigil/persistence/disktest"
)

// crashing is how a life ends in the middle.
type crashing int

const (
	powerFailure crashing = iota
	death                 // of the process, as by kill -9: its machine goes on
)

var crashNames = [...]string{"the power fails", "the process dies"}

// image is a disk at the moment of a crash: what it had for sure,
// and what it would have had with all that was not synced. What it really has lies
// between the two, and loss says where: after the death of the process as well, which the log that Pebble
// has in buffers goes with. The choices are made here and for each file
// by itself, as those of MemFS follow the order of a map.
type image struct {
	synced, whole *disktest.Disk
	memory        *disktest.Memory // of mapped files; nil if that of the machine is gone
}

// loss is how much of what was not synced is gone.
type loss int

const (
	loseAll loss = iota
	loseNothing
	loseTails  // each file ends somewhere in what was not synced
	loseBlocks // each block that was not synced is there or not
)

var lossNames = [...]string{"all", "nothing", "tails", "blocks"}

const (
	// sector is the size in bytes of what a disk writes as a whole.
	sector = 512
	// logBlock is the size in bytes of what Pebble appends to before it writes its log.
	logBlock = 32 << 10
)

// cloneWhole returns a disk that has all, as synced, that another one has. MemFS wants a draw, which decides nothing.
func cloneWhole(d *disktest.Disk) *disktest.Disk {
	return d.CrashClone(vfs.CrashCloneCfg{UnsyncedDataPercent: 100, RNG: rand.New(rand.NewPCG(0, 0))})
}

// endLogs makes Pebble's logs end with whole blocks, or with what was synced. Unless a sync is asked for, Pebble writes a block when it is full,
// and what has come into the next one at that moment: how much that is no seed decides.
func (im *image) endLogs() {
	names, err := im.whole.List(home)
	if err != nil {
		return // there is none yet
	}
	for _, name := range names {
		if fileKind(name) == logFile {
			im.endLog(im.whole.PathJoin(home, name))
		}
	}
	im.whole = cloneWhole(im.whole)
}

func (im *image) endLog(path string) {
	whole, err := im.whole.UnsafeGetFileDataBuffer(path)
	if err != nil {
		return // it is being removed
	}
	synced, err := im.synced.UnsafeGetFileDataBuffer(path)
	if err != nil {
		synced = nil // its directory was not synced
	}
	end := len(whole)
	if len(synced) == len(whole) { // a log that is used again is as long as before
		for end > 0 && synced[end-1] == whole[end-1] {
			end--
		}
	}
	end -= end % logBlock
	ended := append(slices.Clone(whole[:end]), synced[min(end, len(synced)):]...)
	if err := put(im.whole, path, ended); err != nil {
		panic(err) // which memory never gives
	}
}

// put makes a file, or one in the place of another.
func put(to *disktest.Disk, path string, content []byte) error {
	f, err := to.Create(path, vfs.WriteCategoryUnspecified)
	if err != nil {
		return err
	}
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Close()
}

// disk makes the disk that the next life of the server finds.
func (im *image) disk(l loss, seed uint64) (*disktest.Disk, error) {
	switch l {
	case loseAll:
		return im.synced, nil
	case loseNothing:
		return im.whole, nil
	}
	to := disktest.New()
	if err := im.mix(to, "/", l, seed); err != nil {
		return nil, fmt.Errorf("mix what was synced and what was not: %w", err)
	}
	return cloneWhole(to), nil
}

// mix fills a directory.
func (im *image) mix(to *disktest.Disk, dir string, l loss, seed uint64) error {
	names, err := im.whole.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := to.PathJoin(dir, name)
		r := rand.New(rand.NewPCG(seed, hashOf(path)))
		_, err := im.synced.Stat(path)
		sure := err == nil
		if !sure && r.IntN(2) == 0 {
			continue // the directory was not synced
		}
		info, err := im.whole.Stat(path)
		if err != nil {
			return err
		}
		if info.IsDir() {
			if err := to.MkdirAll(path, 0o700); err != nil {
				return err
			}
			if err := im.mix(to, path, l, seed); err != nil {
				return err
			}
			continue
		}
		if err := im.file(to, path, sure, l, r); err != nil {
			return err
		}
	}
	return nil
}

func hashOf(s string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(s)) // which never fails
	return h.Sum64()
}

// file makes one file of its two versions.
func (im *image) file(to *disktest.Disk, path string, sure bool, l loss, r *rand.Rand) error {
	whole, err := im.whole.UnsafeGetFileDataBuffer(path)
	if err != nil {
		return err
	}
	synced, err := im.formerly(path, whole, sure)
	if err != nil {
		return err
	}
	return put(to, path, between(synced, whole, l, r))
}

// formerly returns what was synced of a file. If that has its name for sure it is what has the name; else the file may have had
// another one, under which it was synced: that of a file which begins as this one does. MemFS keeps both names until
// the directory is synced.
func (im *image) formerly(path string, whole []byte, sure bool) ([]byte, error) {
	if sure {
		return im.synced.UnsafeGetFileDataBuffer(path)
	}
	names, err := im.synced.List(im.synced.PathDir(path))
	if err != nil {
		return nil, nil // its directory was not synced
	}
	slices.Sort(names)
	for _, name := range names {
		other := im.synced.PathJoin(im.synced.PathDir(path), name)
		b, err := im.synced.UnsafeGetFileDataBuffer(other)
		const head = 8 * sector // two files do not have so much in common
		if err == nil && len(b) >= head && len(whole) >= head && bytes.Equal(b[:head], whole[:head]) {
			return b, nil
		}
	}
	return nil, nil
}

// between draws a content between what was synced and what was written.
func between(synced, whole []byte, l loss, r *rand.Rand) []byte {
	if bytes.Equal(synced, whole) {
		return whole
	}
	if l == loseTails {
		same := 0
		for same < min(len(synced), len(whole)) && synced[same] == whole[same] {
			same++
		}
		end := same + r.IntN(max(1, len(whole)-same+1))
		return append(slices.Clone(whole[:end]), synced[min(end, len(synced)):]...)
	}
	got := slices.Clone(synced)
	for at := 0; at < len(whole); at += sector {
		block := whole[at:min(at+sector, len(whole))]
		if at+len(block) <= len(synced) && bytes.Equal(block, synced[at:at+len(block)]) || r.IntN(2) == 0 {
			continue
		}
		if grow := at + len(block) - len(got); grow > 0 {
			got = append(got, make([]byte, grow)...)
		}
		copy(got[at:], block)
	}
	return got
}
