package replay

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"sync/atomic"

	"github.com/vigildb/vigil/persistence/format"
	"github.com/vigildb/vigil/persistence/journal"
	"github.com/vigildb/vigil/persistence/keyspace"
	"github.com/vigildb/vigil/structures"
)

// Replay applies the journal to what the object store has. It goes through the
// journal in windows. Of each, several goroutines first sort out what the records
// did to which key (window.go), by shard; then each shard is taken by one of them,
// which applies that in order (worker.go).
//
// The earlier state of a key is rarely needed: most keys are first set or deleted,
// and everything behind is in the journal too. Whether the disk has such a key
// must be known all the same, for the counts; that is found out at the end, in the
// order of the disk (reconcile.go). A record is passed over where the heads are
// known to contain it, by the marks of the writeback (package writeback).
type replay struct {
	*Replayer
	db        map[uint32]int // logical by physical database
	workers   []*worker
	next      atomic.Int32     // shard to be taken
	last      journal.Position // end of what was replayed
	part      float64          // of the journal that was applied
	live      bool             // the store serves meanwhile: see live.go
	allowance Allowance

	// known has for keys read from disk which records their heads contain, if
	// those are still to come. Each is for the goroutine that has the shard.
	known [format.ShardCount]map[string]uint64
}

// index looks up which logical database a physical one is.
func (r *replay) index() {
	r.db = make(map[uint32]int, len(r.Files.Meta.Phys))
	for db, phys := range r.Files.Meta.Phys {
		r.db[phys] = db
	}
}

// journal replays all windows.
func (r *replay) journal(ctx context.Context) error {
	if err := r.survey(); err != nil {
		return err
	}
	chunks, err := r.chunksFrom(r.last.Index + 1)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// One window is read while the other is replayed.
	free, full := make(chan *window, 2), make(chan *window)
	free <- &window{most: r.allowance.Window}
	if r.allowance.ahead {
		free <- &window{most: r.allowance.Window}
	}
	read := make(chan error, 1) // how the reading ended
	go func() {
		defer close(full)
		read <- errors.Join(readWindows(ctx, chunks, free, full), chunks.Close())
	}()
	for w := range full {
		if err == nil {
			if err = r.window(w); err != nil {
				cancel()
			}
		}
		free <- w
	}
	if err != nil {
		<-read
		return err
	}
	return <-read
}

// survey determines how much there is to replay.
func (r *replay) survey() (err error) {
	p := &r.Progress
	first, last, bytes := r.Files.Meta.Trimmed.LSN, r.Files.LastChunk.LSN, int64(0)
	if m := r.Group; m != nil {
		last, err = m.Log().LastRecord(m.Applied())
		_, bytes = m.Log().Size()
	} else {
		_, bytes = r.Files.Log.Size()
	}
	p.first.Store(first)
	p.current.Store(first)
	p.end.Store(max(first, last))
	p.total.Store(bytes)
	return err
}

// window replays one window.
func (r *replay) window(w *window) error {
	if w.apart {
		return r.apart(w)
	}
	err := r.together(func(i int, worker *worker) error {
		n := len(w.chunks)
		for c := n * i / len(r.workers); c < n*(i+1)/len(r.workers); c++ {
			if err := worker.sort(&w.chunks[c]); err != nil {
				return err
			}
		}
		return nil
	})
	for i := 0; i < len(w.chunks) && err == nil; i++ {
		err = r.advance(&w.chunks[i])
	}
	if err != nil {
		return err
	}
	return r.apply()
}

// advance notes that the chunk was read, which must be the next.
func (r *replay) advance(c *windowChunk) error {
	if err := c.Follows(r.last); err != nil {
		return err
	}
	r.last = journal.Position{LSN: c.last, Index: c.Index}
	r.Commits.Length.Add(c.last, int64(len(c.Bytes)), c.Segment)
	r.Progress.current.Store(c.last)
	return nil
}

// apply does what the workers have sorted, and forgets it.
func (r *replay) apply() error {
	err := r.eachShard(func(w *worker, sh int) error {
		w.enter(sh)
		w.expect()
		for _, from := range r.workers {
			if err := w.apply(from.sorted[sh]); err != nil {
				return err
			}
		}
		if b := r.allowance.Bound; b == 0 || r.allowance.amid || r.Keyspace.Memory.Load()+w.grown() <= b {
			return nil
		}
		return w.makeRoom(r.last.LSN)
	})
	for _, worker := range r.workers {
		worker.forget()
	}
	if p := &r.Progress; p.end.Load() > p.first.Load() {
		r.part = float64(r.last.LSN-p.first.Load()) / float64(p.end.Load()-p.first.Load())
	}
	return err
}

// apart replays a chunk with operations that are about no key: everything before such an
// operation must be done.
func (r *replay) apart(w *window) error {
	c, worker := &w.chunks[0], r.workers[0]
	r.allowance.amid, worker.sole = true, math.MaxInt
	records, err := c.Open()
	lsn := c.First
	for ; len(records) > 0 && err == nil; lsn++ {
		var rec []byte
		if rec, records, err = format.NextRecord(records); err == nil {
			err = r.recordApart(worker, rec, lsn)
		}
	}
	if err != nil {
		return err
	}
	c.last = lsn - 1
	if err := r.advance(c); err != nil {
		return err
	}
	r.allowance.amid = false
	return r.apply()
}

// recordApart sorts a record that may have such operations.
func (r *replay) recordApart(w *worker, rec []byte, lsn uint64) error {
	for {
		rest, err := w.record(rec, lsn)
		if err != nil || len(rest) == 0 {
			return err
		}
		if err := r.apply(); err != nil {
			return err
		}
		op, args, rest, err := structures.NextOp(rest)
		switch {
		case err != nil:
		case op == format.OpMapping:
			err = r.remap(&args, lsn)
		default:
			err = r.Catalog().Replay(op, &args, r.live)
		}
		if err != nil {
			return fmt.Errorf("record %d: operation %d: %w", lsn, op, err)
		}
		rec = rest
	}
}

// together runs f for each worker at the same time.
func (r *replay) together(f func(i int, w *worker) error) error {
	errs := make([]error, len(r.workers))
	var all sync.WaitGroup
	for i, w := range r.workers {
		all.Go(func() { errs[i] = f(i, w) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// eachShard runs f once for each shard, several at the same time, and brings the
// account of memory up to date.
func (r *replay) eachShard(f func(w *worker, sh int) error) error {
	r.next.Store(0)
	return r.together(func(_ int, w *worker) error {
		for sh := int(r.next.Add(1)) - 1; sh < format.ShardCount; sh = int(r.next.Add(1)) - 1 {
			err := f(w, sh)
			shard := &r.Keyspace.Shard[sh]
			r.Keyspace.Report(shard)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// remap changes which databases are which, unless meta already knew of it.
func (r *replay) remap(args *structures.Args, lsn uint64) error {
	next, phys, err := format.DecodeMapping(args)
	if err != nil {
		return err
	}
	if lsn <= r.Files.Meta.Mapped {
		return nil
	}
	if len(phys) != len(r.Files.Meta.Phys) {
		return fmt.Errorf("mapping of %d databases, want %d: %w", len(phys), len(r.Files.Meta.Phys), format.ErrCorrupt)
	}
	for i := range r.Keyspace.Shard {
		old := r.Keyspace.Shard[i].Tables
		r.Keyspace.Shard[i].Tables = make([]*keyspace.Table, len(old))
		byPhys := map[uint32]*keyspace.Table{}
		for _, t := range old {
			if t != nil {
				byPhys[t.Phys] = t
			}
		}
		for db, p := range phys {
			r.Keyspace.Shard[i].Tables[db] = byPhys[p]
			delete(byPhys, p)
		}
		for _, t := range byPhys {
			r.Purger.Table(i, t)
		}
	}
	if r.live {
		r.Purger.Replaced(r.Files.Meta.Phys, phys, lsn)
	}
	copy(r.Files.Meta.Phys, phys) // in its place: their number is read under no lock
	r.Files.Meta.Next = max(r.Files.Meta.Next, next)
	r.index()
	return nil
}
