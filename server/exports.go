package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/importer"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/rdbfile"
	"github.com/vigildb/vigil/structures/types"
)

// ExportOptions say what Export does.
type ExportOptions struct {
	Path    string // of the file, which must not exist
	For     string // the server that is to read it, see ExportTargets
	Modules bool   // it has RedisBloom and RedisJSON
	Strict  bool   // what it has no form for is an error; else it is left out and counted
}

// ExportTargets are the servers that Export writes for.
func ExportTargets() []string { return rdbfile.TargetNames() }

// exportJob is one export.
type exportJob struct {
	*transfer
	o       ExportOptions
	target  rdbfile.Target
	summary importer.Summary // guarded by mu
}

func (j *exportJob) note(f func(s *importer.Summary)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	f(&j.summary)
}

// done is what was done so far. j.mu is held.
func (j *exportJob) done() importer.Summary { return j.summary.Clone() }

var errExportTarget = errors.New("unknown target")

// errExportPart is the error of an export of what is of no use.
var errExportPart = errors.New("the group has a part of a master's data so far")

// Export writes the keys as they are at one moment as an RDB file, while the server goes on. The file gets its name when it is complete and on
// the device. progress, if it is not nil, is called about once a second.
func (srv *Server) Export(ctx context.Context, o ExportOptions, progress func(importer.Summary)) (importer.Summary, error) {
	j, err := srv.beginExport(ctx, o)
	if err != nil {
		return importer.Summary{}, err
	}
	return j.await(func() error { return srv.runExport(j) }, progress)
}

func (srv *Server) beginExport(ctx context.Context, o ExportOptions) (*exportJob, error) {
	if srv.store.Incomplete() {
		return nil, errExportPart
	}
	target, ok := rdbfile.TargetNamed(o.For)
	if !ok {
		return nil, fmt.Errorf("%w %.40q: one of %q", errExportTarget, o.For, ExportTargets())
	}
	j := &exportJob{o: o, target: target}
	var err error
	j.transfer, err = srv.exports.begin(ctx, srv, "export", o.Path, j.done)
	return j, err
}

// partOf ends the name of a file that is not complete.
const partOf = ".part"

// runExport makes an export.
func (srv *Server) runExport(j *exportJob) (err error) {
	if _, err := os.Lstat(j.o.Path); !os.IsNotExist(err) {
		return fmt.Errorf("%s: %w", filepath.Base(j.o.Path), errors.Join(os.ErrExist, err))
	}
	frozen, err := srv.store.Freeze()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, frozen.Close()) }()
	part := j.o.Path + partOf
	f, err := os.OpenFile(part, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = srv.writeExport(j, frozen, f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(part, j.o.Path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(part))
	}
	return syncDir(filepath.Dir(j.o.Path))
}

// syncDir forces the names in a directory to the device.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// writeExport writes everything.
func (srv *Server) writeExport(j *exportJob, frozen *persistence.Frozen, out io.Writer) error {
	now := srv.clock.Now().UnixMilli()
	buffered := bufio.NewWriterSize(out, 1<<20)
	w := srv.rdbWriter(buffered, j.target, now, j.o.Modules)
	libraries, total := writeLibraries(w, frozen), int64(0)
	for db := range frozen.Databases() {
		total += frozen.Keys(db)
	}
	j.note(func(s *importer.Summary) { s.Libraries, s.Total = int64(libraries), total })
	err := writeDatabases(j.ctx, w, frozen, now, func(db int, key []byte, v structures.Value, text []byte, expire int64) error {
		return j.key(w, db, key, v, text, expire)
	})
	if err != nil {
		return err
	}
	err = errors.Join(w.Close(), buffered.Flush())
	j.note(func(s *importer.Summary) { s.Bytes = w.Size() })
	return err
}

// rdbWriter begins a file for a target as the configuration has it.
func (srv *Server) rdbWriter(to io.Writer, target rdbfile.Target, now int64, modules bool) *rdbfile.Writer {
	w := rdbfile.NewWriter(to, target, now, modules)
	if srv.settings().conf.RDBCompression {
		w.Shrink()
	}
	return w
}

// writeLibraries writes the libraries of a copy in the order of their names, and returns how many there are.
func writeLibraries(w *rdbfile.Writer, frozen *persistence.Frozen) int {
	libraries := frozen.Libraries()
	for _, name := range slices.Sorted(maps.Keys(libraries)) {
		w.Library(libraries[name])
	}
	return len(libraries)
}

// writeDatabases writes the databases of a copy that have keys, by way of a function for a key. What has expired by now, in unix ms,
// is left out.
func writeDatabases(ctx context.Context, w *rdbfile.Writer, frozen *persistence.Frozen, now int64,
	write func(db int, key []byte, v structures.Value, text []byte, expire int64) error) error {
	for db := range frozen.Databases() {
		keys := frozen.Keys(db)
		if keys == 0 {
			continue
		}
		w.Database(db, keys, 0)
		err := frozen.Each(ctx, db, now, func(key []byte, v structures.Value, text []byte, expire int64) error {
			return write(db, key, v, text, expire)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// key writes a key, and counts it.
func (j *exportJob) key(w *rdbfile.Writer, db int, key []byte, v structures.Value, text []byte, expire int64) error {
	outcome, err := w.Key(key, v, text, expire)
	if err != nil {
		return err
	}
	kind := structures.KindString
	if v != nil {
		kind = v.Kind()
	}
	lost := ""
	switch outcome {
	case rdbfile.Stripped:
		lost = "hashes lost the expiries of their fields, which " + j.target.Name + " does not have"
	case rdbfile.NoType:
		lost = types.Of(kind).Plural + ", which " + j.target.Name + " does not have"
	}
	if lost != "" && j.o.Strict {
		return errors.New(lost)
	}
	j.note(func(s *importer.Summary) {
		switch {
		case outcome == rdbfile.Expired:
			s.Expired++
		case lost != "":
			s.Skip(lost, 1)
		}
		if outcome == rdbfile.Written || outcome == rdbfile.Stripped {
			s.Count(db, kind)
		}
		s.Bytes = w.Size()
	})
	return nil
}

// BeginExport begins an export in the background, for VIGIL.EXPORT.
func (h host) BeginExport(a admin.Export) error {
	srv := h.srv
	path, err := srv.transferPath(a.Path)
	if err != nil {
		return err
	}
	j, err := srv.beginExport(srv.done, ExportOptions{Path: path, For: a.For, Modules: a.Modules, Strict: a.Strict})
	if err != nil {
		return commands.Errorf("ERR %v", err)
	}
	j.goOn(func() error { return srv.runExport(j) })
	return nil
}

// ExportStatus describes the export under way, or the last one.
func (h host) ExportStatus() admin.Transfer { return h.srv.exports.status(h.srv.clock.Now()) }

// StopExport ends the export under way, and reports whether there was one.
func (h host) StopExport() bool { return h.srv.exports.stop() }
