package importer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/aof"
	"github.com/vigildb/vigil/structures/rdb"
	"github.com/vigildb/vigil/structures/rdbfile"
)

// Keys takes keys, each of them by Begin and Put.
type Keys interface {
	Begin(db int, key []byte)
	// Grown is called with the value of the key as it grows: pages of it may leave memory.
	Grown(v structures.Value) error
	// Put is called with a value, or with the bytes of a string.
	Put(v structures.Value, b []byte, expire int64) error
	// Own decodes a value that only vigil has.
	Own(kind structures.Kind, encoded []byte) (structures.Value, error)
	// Err is why Keys takes no more.
	Err() error
}

// Workshop is a server of its own that runs the commands of append-only files.
type Workshop interface {
	// Keys returns where the keys go that the commands begin with. It is called before Begin.
	Keys() (Keys, error)
	// Begin ends that.
	Begin(libraries []string) error
	// Dial connects a client.
	Dial() (io.ReadWriteCloser, error)
	// Finish gives what there is now to whom the workshop is for.
	Finish(s *Summary) error
}

// Options say what is imported.
type Options struct {
	Path      string    // "-": Stdin
	Stdin     io.Reader // what "-" is
	Databases int
	MaxString uint64
	MaxBloom  uint64
	MaxKey    int
	HashKeys  *structures.HashKeys
	Now       int64 // unix ms: keys that expire up to it are left out

	// Replica says that the file is that of a master: keys that are expired stay, until the master removes them, and no commands follow.
	Replica bool

	Only        []int // databases; none: all
	SkipUnknown bool  // what is not known of commands is counted
	Slots       bool  // files are taken that have only some keys of slots
	Torn        bool  // the last command of the last file may be cut short
	Until       int64 // unix s: commands annotated with a later time are left out; 0: none
}

// Import is one import. Run is called once; the others may be called meanwhile.
type Import struct {
	o    Options
	keys Keys
	work func() (Workshop, error)
	shop Workshop // nil unless there are commands
	libs []string // libraries of functions, as the files have them
	ctx  context.Context

	mu      sync.Mutex
	summary Summary // guarded by mu
}

// New makes an import whose keys go to keys. work makes a workshop, if one is needed.
func New(o Options, keys Keys, work func() (Workshop, error)) *Import {
	return &Import{o: o, keys: keys, work: work}
}

// Libraries are the sources of the libraries of functions that Run has found, unless they were given to a workshop.
func (i *Import) Libraries() []string { return i.libs }

// Wants reports whether a database is to be imported.
func (o *Options) Wants(db int) bool { return len(o.Only) == 0 || slices.Contains(o.Only, db) }

// file is one to be read.
type file struct {
	name string
	io.Reader
	size int64 // -1: not known
	io.Closer
}

func open(path string) (*file, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	size := info.Size()
	if !info.Mode().IsRegular() {
		size = -1
	}
	return &file{filepath.Base(path), f, size, f}, nil
}

// Run reads everything. Its error is that of a file, with its place, of Keys, or the context's.
func (i *Import) Run(ctx context.Context) error {
	i.ctx = ctx
	paths, err := i.paths()
	if err != nil {
		return err
	}
	for at, path := range paths {
		if err := i.file(path, len(paths) > 1, at == len(paths)-1); err != nil {
			return err
		}
	}
	if i.shop == nil {
		return nil
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.shop.Finish(&i.summary)
}

// paths returns the files to be read, in order.
func (i *Import) paths() ([]string, error) {
	path := i.o.Path
	if path == "-" {
		i.note(func(s *Summary) { s.Total = -1 })
		return []string{path}, nil
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		if path, err = findManifest(path); err != nil {
			return nil, err
		}
	}
	paths := []string{path}
	if strings.HasSuffix(path, aof.ManifestSuffix) {
		if paths, err = readManifest(path); err != nil {
			return nil, err
		}
	}
	total := int64(0)
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, err
		}
		total += info.Size()
	}
	i.note(func(s *Summary) { s.Total = total })
	return paths, nil
}

// findManifest returns the manifest in a directory.
func findManifest(dir string) (string, error) {
	found, err := filepath.Glob(filepath.Join(escapeGlob(dir), "*"+aof.ManifestSuffix))
	if err != nil || len(found) != 1 {
		return "", fmt.Errorf("%s: %d files *%s in the directory, and one is needed", dir, len(found), aof.ManifestSuffix)
	}
	return found[0], nil
}

func escapeGlob(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(s)
}

func readManifest(path string) ([]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := aof.ReadManifest(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	var paths []string
	for _, name := range m.Files() {
		paths = append(paths, filepath.Join(filepath.Dir(path), name))
	}
	return paths, nil
}

// file reads a file, which is one of several, and perhaps the last.
func (i *Import) file(path string, several, last bool) (err error) {
	f := &file{"-", i.o.Stdin, -1, io.NopCloser(nil)}
	if path != "-" {
		if f, err = open(path); err != nil {
			return err
		}
	}
	defer f.Close()
	done := i.Summary().Bytes
	head := make([]byte, len("VALKEY"))
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	head = head[:n]
	in := io.MultiReader(strings.NewReader(string(head)), f.Reader)
	offset := int64(0)
	if strings.HasPrefix(string(head), "REDIS") || strings.HasPrefix(string(head), "VALKEY") {
		r := rdbfile.NewReader(in, f.size, i.o.Reader())
		more, err := i.rdb(r, several, done)
		if err != nil {
			return fmt.Errorf("%s: %w", f.name, err)
		}
		if !more {
			return nil
		}
		in, offset = r.Rest(), r.Offset()
	} else if n == 0 && !several {
		return fmt.Errorf("%s: the file is empty", f.name)
	}
	if err := i.commands(in, f.name, offset, done, last); err != nil {
		return fmt.Errorf("%s: %w", f.name, err)
	}
	return nil
}

// Reader are the options of the reader of a file.
func (o *Options) Reader() rdbfile.Options {
	return rdbfile.Options{Options: rdb.Options{MaxString: o.MaxString, MaxBloom: o.MaxBloom, HashKeys: o.HashKeys},
		MaxKey: o.MaxKey, Databases: o.Databases, Importing: o.Slots}
}

// Receive is Run for one RDB file that a master sends.
func (i *Import) Receive(ctx context.Context, r *rdbfile.Reader) error {
	i.ctx = ctx
	_, err := i.rdb(r, false, 0)
	return err
}

// workshop returns the workshop, which is made when it is needed first.
func (i *Import) workshop() (Workshop, error) {
	if i.shop == nil {
		shop, err := i.work()
		if err != nil {
			return nil, err
		}
		i.shop = shop
	}
	return i.shop, nil
}
