package source

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vigildb/vigil/persistence"
)

// windowBytes is how much a pass writes that some replica has not taken.
const windowBytes = 4 << 20

// retry is after how long a pass is tried again that could not begin.
const retry = time.Second

// errAbandoned is that no replica of a pass is left.
var errAbandoned = errors.New("no replica takes it")

// wish is what replicas have in common that share a pass.
type wish struct {
	eof    bool
	major  int // of Valkey; 0: Redis, or it did not say
	filter Filter
}

func (r *Replica) wishLocked() wish {
	major, _ := strconv.Atoi(r.version[:max(0, strings.IndexByte(r.version+".", '.'))])
	return wish{eof: r.eof, major: major, filter: r.filter}
}

// pass is one file, which goes to some replicas. What they have not all taken of it is in memory, or, if its length has to be said
// first, all of it in a temporary file.
type pass struct {
	s    *Source
	wish wish
	ctx  context.Context
	stop context.CancelFunc

	// Guarded by s.mu:
	members  map[*Replica]struct{}
	joined   bool // the members are known
	log      backlog
	size     int64 // of what can be taken
	complete bool
	spool    *os.File      // nil without a temporary file
	closing  sync.Once     // of spool
	room     chan struct{} // capacity 1: a token says that a member has taken something, or has left
}

// beginPassLocked begins a pass if replicas wait and there is none. Passes begin no faster than one each Settings.Delay, so that replicas
// that come together share one.
func (s *Source) beginPassLocked() {
	now := s.o.Now()
	if s.pass != nil || s.o.Done.Err() != nil || now.Before(s.later) || !s.began.IsZero() && now.Sub(s.began) < s.o.Settings().Delay {
		return
	}
	for r := range s.replicas {
		if r.state != waiting {
			continue
		}
		p := &pass{s: s, wish: r.wishLocked(), members: map[*Replica]struct{}{}, room: make(chan struct{}, 1)}
		p.ctx, p.stop = context.WithCancel(s.o.Done)
		s.pass, s.began = p, now
		s.o.Go(p.run)
		return
	}
}

// run makes the pass. It ends when everything was written, when nobody takes it, or with the server.
func (p *pass) run() {
	s := p.s
	defer p.stop()
	err := p.make()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pass, s.cutting = nil, nil
	switch {
	case err == nil:
		p.complete = true
		for r := range p.members {
			r.heard = s.o.Now()
			r.wakeLocked()
		}
	case errors.Is(err, persistence.ErrIntake): // an export has the only copy that there may be
		s.later = s.o.Now().Add(retry)
	default:
		if p.ctx.Err() == nil && !errors.Is(err, errAbandoned) {
			s.o.Logf("replication: full synchronization failed: %v", err)
		}
		p.failLocked(err)
	}
	if len(p.members) == 0 {
		p.closeLocked()
	}
	s.beginPassLocked()
}

// failLocked drops those that would get the file.
func (p *pass) failLocked(err error) {
	for r := range p.members {
		p.s.dropLocked(r, err.Error())
	}
	if p.joined {
		return
	}
	for r := range p.s.replicas {
		if r.state == waiting && r.wishLocked() == p.wish {
			p.s.dropLocked(r, err.Error())
		}
	}
}

// make cuts and writes.
func (p *pass) make() error {
	s := p.s
	if err := s.follow(); err != nil {
		return err
	}
	s.mu.Lock()
	s.cutting = &cutting{base: s.last, from: s.log.end, end: s.log.end}
	s.mu.Unlock()
	cut, err := s.o.Store.Cut()
	if err != nil {
		return err
	}
	defer func() {
		if err := cut.Close(); err != nil {
			s.o.Logf("replication: close a copy: %v", err)
		}
	}()
	f, err := p.format(cut)
	if err != nil {
		return err
	}
	if err := p.join(cut.Record(), &f); err != nil {
		return err
	}
	if p.wish.eof {
		return p.writeMarked(cut, f)
	}
	return p.writeSpool(cut, f)
}

// follow starts the feed of the store, if there is none.
func (s *Source) follow() error {
	s.starting.Lock() // one who comes meanwhile waits until it has begun
	defer s.starting.Unlock()
	s.mu.Lock()
	if s.feed != nil {
		s.mu.Unlock()
		return nil
	}
	f := &feed{s: s, recorded: make(chan struct{}, 1)}
	s.feed, s.last, s.db = f, 0, -1
	s.restartLocked(s.log.end)
	s.active.Store(true)
	s.mu.Unlock()
	lsn, err := s.o.Store.StartFeed(f)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err != nil:
		if s.feed == f {
			s.endLocked(err.Error())
		}
		return err
	case s.feed != f:
		return errors.New("the stream of commands has ended")
	case s.last == 0:
		s.last, f.confirmed = lsn, lsn
	}
	if s.o.Commits {
		s.o.Go(f.confirm)
	}
	return nil
}

// Targets of files, as package rdbfile names them.
const (
	plainTarget  = "redis7.0"
	timedTarget  = "redis7.4"
	valkeyTarget = "valkey9"
)

// format chooses the form of the file by what the replicas are and the data needs.
func (p *pass) format(cut Cut) (Format, error) {
	f := Format{For: plainTarget, Filter: p.wish.filter}
	if f.Filter != Everything {
		return f, nil
	}
	timed, err := cut.FieldsExpire(p.ctx)
	switch {
	case err != nil:
		return f, err
	case p.wish.major >= 9 && timed:
		f.For = valkeyTarget
	case p.wish.major > 0 && timed:
		return f, fmt.Errorf("fields of hashes expire, which Valkey %d does not have", p.wish.major)
	case timed:
		f.For = timedTarget
	}
	return f, nil
}

// join lets the replicas in that wait for such a file: they go on in the stream behind the record of the cut.
func (p *pass) join(lsn uint64, f *Format) error {
	s := p.s
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.cutting
	if c == nil {
		return errors.New("the stream of commands has ended")
	}
	offset, ok := c.offset(lsn)
	if !ok || !s.log.has(offset) {
		return fmt.Errorf("the stream has no longer what follows record %d", lsn)
	}
	s.cutting, s.db = nil, -1
	p.joined = true
	f.ID, f.Offset = s.id, offset
	for r := range s.replicas {
		if r.state != waiting || r.wishLocked() != p.wish {
			continue
		}
		if !r.old {
			r.out = fmt.Appendf(r.out, "+FULLRESYNC %s %d\r\n", s.id, offset)
		}
		r.state, r.pass, r.at, r.offset, r.moved = bulk, p, 0, offset, s.o.Now()
		p.members[r] = struct{}{}
		s.counts.Full++
		r.wakeLocked()
	}
	if len(p.members) == 0 {
		return errAbandoned
	}
	return nil
}

// writeMarked writes a file whose end is a marker, straight to the members.
func (p *pass) writeMarked(cut Cut, f Format) error {
	mark := p.s.o.NewID()
	if _, err := fmt.Fprintf(p, "$EOF:%s\r\n", mark); err != nil {
		return err
	}
	if err := cut.Write(p.ctx, p, f); err != nil {
		return err
	}
	return p.add([]byte(mark), true)
}

// Write adds to what the members are to take, when they have taken enough of what is before it.
func (p *pass) Write(b []byte) (int, error) {
	n := len(b)
	for len(b) > 0 {
		some := min(len(b), windowBytes/4)
		if err := p.add(b[:some], false); err != nil {
			return 0, err
		}
		b = b[some:]
	}
	return n, nil
}

// add is Write of a part. With the last one the file is complete: a member that has it may confirm it at once.
func (p *pass) add(b []byte, last bool) error {
	s := p.s
	for {
		s.mu.Lock()
		least := p.size
		for r := range p.members {
			least = min(least, r.at)
		}
		switch {
		case len(p.members) == 0:
			s.mu.Unlock()
			return errAbandoned
		case p.size-least+int64(len(b)) <= windowBytes:
			p.log.trim(least)
			p.log.add(b)
			p.size, p.complete = p.log.end, last
			for r := range p.members {
				r.wakeLocked()
			}
			s.mu.Unlock()
			return nil
		}
		s.mu.Unlock()
		select {
		case <-p.room:
		case <-p.ctx.Done():
			return p.ctx.Err()
		}
	}
}

// movedLocked says that a member has taken something, or has left.
func (p *pass) movedLocked() {
	select {
	case p.room <- struct{}{}:
	default:
	}
}

func (p *pass) leaveLocked(r *Replica) {
	delete(p.members, r)
	p.movedLocked()
	if len(p.members) == 0 && p.joined {
		if !p.complete {
			p.stop()
			return // run closes the file
		}
		p.closeLocked()
	}
}

// writeSpool writes a temporary file first, whose length is sent before it.
func (p *pass) writeSpool(cut Cut, f Format) error {
	file, err := os.CreateTemp(p.s.o.Settings().Dir, "sync-*.rdb")
	if err != nil {
		return err
	}
	// Where the system allows it the name goes at once: nothing is left then, however the server ends.
	os.Remove(file.Name())
	p.s.mu.Lock()
	p.spool = file
	p.s.mu.Unlock()
	if err := cut.Write(p.ctx, file, f); err != nil {
		return fmt.Errorf("%s: %w", filepath.Base(file.Name()), err)
	}
	size, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return err
	}
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	p.size = size
	for r := range p.members {
		r.out = fmt.Appendf(r.out, "$%d\r\n", size)
	}
	return nil
}

// readLocked appends n bytes of the file from an offset on.
func (p *pass) readLocked(dst []byte, at int64, n int) ([]byte, error) {
	if p.spool == nil {
		return p.log.read(dst, at, n), nil
	}
	from := len(dst)
	dst = append(dst, make([]byte, n)...)
	_, err := p.spool.ReadAt(dst[from:], at)
	return dst, err
}

// closeLocked removes the temporary file.
func (p *pass) closeLocked() {
	if p.spool != nil {
		p.closing.Do(func() {
			p.spool.Close()
			os.Remove(p.spool.Name())
		})
	}
}
