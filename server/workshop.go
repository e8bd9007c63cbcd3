package server

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strconv"
	"time"

	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/persistence/intake"
	"github.com/vigildb/vigil/server/conf"
	"github.com/vigildb/vigil/server/importer"
	"github.com/vigildb/vigil/structures"
)

// workshop is a server of its own that runs the commands of append-only files for an import. It implements
// importer.Workshop.
type workshop struct {
	srv       *Server
	into      *intake.Intake // of the server that imports
	o         *importer.Options
	first     *intake.Intake // of srv, until Begin
	libraries []string
}

// workshopMemory is the least maxmemory of a workshop in bytes, and workshopPart which part it is of that of the server.
const workshopMemory, workshopPart = 32 << 20, 4

// workshopClock stands in 1970 when the workshop opens, and goes as usual: what expires at a time of today stays.
type workshopClock struct{ began time.Time }

func (c workshopClock) Now() time.Time {
	return time.UnixMilli(1000).Add(time.Since(c.began))
}

func (c workshopClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

func (c workshopClock) AfterFunc(d time.Duration, f func()) (stop func()) {
	return SystemClock{}.AfterFunc(d, f)
}

// openWorkshop opens a workshop in the directory in which an intake has its tables, and which is removed with them.
func (srv *Server) openWorkshop(into *intake.Intake, o *importer.Options) (*workshop, error) {
	set := srv.settings()
	memory := int64(workshopMemory)
	if most := max(set.conf.MaxMemory, srv.opts.DerivedMaxMemory); most > 0 {
		memory = max(memory, most/workshopPart)
	}
	config, err := conf.Load([]string{"--databases", strconv.Itoa(set.limits.Databases), "--appendfsync", "no", "--proto-max-bulk-len", strconv.FormatInt(set.limits.MaxBulk, 10),
		"--maxmemory", strconv.FormatInt(memory, 10), "--lua-memory-limit", strconv.FormatInt(set.conf.LuaMemoryLimit, 10), "--io-threads", "1"}, nil)
	if err != nil {
		return nil, err
	}
	work, err := Open(srv.done, Options{Config: config, InMemory: srv.opts.InMemory, Dir: filepath.Join(set.dir, into.Dir(), "work"), Clock: workshopClock{time.Now()},
		inside: inside{Store: func(p *persistence.Options) { srv.store.Alike(p) }}})
	if err != nil {
		return nil, err
	}
	return &workshop{srv: work, into: into, o: o}, nil
}

// Keys returns where the keys go that the commands begin with.
func (w *workshop) Keys() (importer.Keys, error) {
	if w.first == nil {
		first, err := w.srv.store.NewIntake()
		if err != nil {
			return nil, err
		}
		w.first = first
	}
	return w.first, nil
}

// Begin ends that.
func (w *workshop) Begin(libraries []string) error {
	j := &importJob{transfer: &transfer{ctx: w.srv.done}}
	err := w.first.Finish()
	if err == nil {
		err = w.srv.settleImport(j, w.first, libraries)
	}
	err = errors.Join(err, w.first.Close())
	w.first = nil
	return err
}

// Dial connects a client.
func (w *workshop) Dial() (io.ReadWriteCloser, error) { return w.srv.Dial() }

// Finish copies what there is now, but for what is expired.
func (w *workshop) Finish(s *importer.Summary) error {
	for _, source := range w.srv.store.Texts(persistence.Libraries) {
		w.libraries = append(w.libraries, source)
	}
	return w.srv.store.CopyTo(w.into, func(db int, _ []byte, kind structures.Kind, expire int64) bool {
		switch {
		case !w.o.Wants(db):
			s.Skip("keys of databases that are not wanted", 1)
			return false
		case expire != 0 && expire <= w.o.Now:
			s.Expired++
			return false
		}
		s.Count(db, kind)
		return true
	})
}

// close ends the workshop. What it had is removed with the intake.
func (w *workshop) close() error {
	var err error
	if w.first != nil {
		err = w.first.Close()
	}
	return errors.Join(err, w.srv.Close(context.Background()))
}
