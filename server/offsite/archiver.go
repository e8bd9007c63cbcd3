package offsite

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"sync"
	"time"
)

// Source is the store that is backed up, while it is written.
type Source interface {
	// ID tells the store from others, but not from those that were restored from it.
	ID() string
	// Record is the number of the newest record.
	Record() uint64
	// Copy makes a snapshot in a directory that does not exist.
	Copy(dir string) error
	// Log returns the directory of the log and its segments, in order, up to what is on the device. If a log cannot
	// continue a snapshot it returns none.
	Log() (dir string, segments []Segment)
	// Hold keeps the segments until release is called.
	Hold() (release func())
}

// Segment is a file of the log.
type Segment struct {
	Number uint64
	Name   string
	Bytes  int64 // that never change
}

// Options say what an Archiver works with.
type Options struct {
	Store   Source
	Dir     string // of the store: the archiver keeps files in Dir/backup
	Target  string
	Open    Opener
	KeyFile string // empty: nothing is encrypted
	Version string // of the server
	Now     func() time.Time
	Random  io.Reader
	Logf    func(warning bool, format string, args ...any)
}

// Plan is what may change while an Archiver works.
type Plan struct {
	Every    time.Duration // between backups; 0: only when one is asked for
	LogEvery time.Duration // between uploads of the log; 0: none
	Keep     int           // newest backups that stay; 0: any number, unless KeepFor says which
	KeepFor  time.Duration // backups that are younger stay; 0: that is no reason
}

// ErrRunning is returned when a backup is asked for and one is being made.
var ErrRunning = errors.New("offsite: a backup is under way")

// errTaken ends the work of an archiver whose target another one has taken over.
var errTaken = errors.New("another server of this store writes to the target now: give this one another prefix")

// Archiver takes a store to a target. Its methods are safe for concurrent use.
type Archiver struct {
	o      Options
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup

	mu      sync.Mutex
	plan    Plan     // guarded by mu, as all down to status
	asked   bool     // a backup is wanted now
	running bool     // the goroutine of work is there
	newest  uint64   // record of the last moment
	moments []moment // that no object holds yet
	retryAt time.Time
	looked  time.Time // when the log was last on its way
	status  Status

	uploader // used by the goroutine of work only
}

// Status is what is known of the work of an Archiver.
type Status struct {
	Target    string
	Encrypted bool
	Work      string // "backup", "log", "" for nothing
	Done      int64  // bytes of the backup under way that were read
	Total     int64  // that it has
	Backups   []Backup
	Last      time.Time     // when the last backup was begun; zero: there is none
	Took      time.Duration // until it was complete
	Bytes     int64         // of the last backup
	Uploaded  int64         // bytes that were uploaded meanwhile
	LogTime   time.Time     // what was on the device by then can be restored; zero: the log is not being uploaded
	Sent      int64         // bytes uploaded since the start
	Failures  int64         // attempts that failed since the start
	Error     string        // why the last attempt failed; empty: it did not
}

// Backup describes one that is complete.
type Backup struct {
	Name    string
	Made    time.Time
	Through time.Time // with what is known of the log behind it
	Bytes   int64     // that a restore fetches, without the log behind it
}

// Restorable is the time up to which all that had reached the device can be restored, zero for none.
func (s Status) Restorable() time.Time {
	if n := len(s.Backups); n > 0 {
		return s.Backups[n-1].Through
	}
	return time.Time{}
}

// New returns an archiver, which does nothing before Tick is called.
func New(o Options) *Archiver {
	c := &Archiver{o: o}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.status.Target, c.status.Encrypted = Shown(o.Target), o.KeyFile != ""
	c.uploader.c = c
	return c
}

// workDir is the directory of the archiver's files.
func (c *Archiver) workDir() string { return filepath.Join(c.o.Dir, "backup") }

// mostMoments bounds what waits for a target that cannot be reached: beyond, every second one is dropped.
const mostMoments = 1 << 17

// Tick is called about once a second. It notes what the newest record is and, if something is due, begins it in the background.
func (c *Archiver) Tick(p Plan) {
	record := c.o.Store.Record() // before the time is asked for: at that time it was there
	now := c.o.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.plan = p
	if record != c.newest && p.LogEvery > 0 {
		c.noteLocked(moment{now.UnixMilli(), record})
	}
	if c.running || c.ctx.Err() != nil || now.Before(c.retryAt) && !c.asked {
		return
	}
	job := c.dueLocked(now)
	if job == nil {
		return
	}
	c.running = true
	c.work.Add(1) // Done when the job is; Close waits for it
	go c.do(job)
}

func (c *Archiver) noteLocked(m moment) {
	c.newest = m.Record
	if n := len(c.moments); n > 0 && c.moments[n-1].Time >= m.Time {
		m.Time = c.moments[n-1].Time // the clock was set back: what comes later counts as of the same time
	}
	if len(c.moments) >= mostMoments {
		kept := c.moments[:0]
		for i := 1; i < len(c.moments); i += 2 {
			kept = append(kept, c.moments[i])
		}
		c.moments = kept
	}
	c.moments = append(c.moments, m)
}

// dueLocked returns what is to be done now.
func (c *Archiver) dueLocked(now time.Time) func() error {
	wanted := c.plan.Every > 0 && (c.status.Last.IsZero() || now.Sub(c.status.Last) >= c.plan.Every || now.Before(c.status.Last))
	anew := c.plan.Every > 0 && c.plan.LogEvery > 0 && c.chain.broken
	switch {
	case c.vault == nil:
		return c.connect
	case c.asked || wanted || anew:
		return c.backup
	case c.plan.LogEvery > 0 && c.chain.base != "" && !c.chain.broken && now.Sub(c.looked) >= c.plan.LogEvery:
		c.looked = now
		return c.follow
	}
	return nil
}

// do does a job, and what becomes of it.
func (c *Archiver) do(job func() error) {
	defer c.work.Done()
	err := job()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running, c.status.Work, c.status.Done, c.status.Total = false, "", 0, 0
	switch {
	case err == nil:
		c.failed, c.status.Error = 0, ""
		return
	case c.ctx.Err() != nil:
		return // the server ends
	}
	c.asked = false
	c.status.Failures++
	c.status.Error = err.Error()
	wait := min(retryFirst<<min(c.failed, 10), retryLast)
	if errors.Is(err, errTaken) {
		c.vault = nil // which is looked at again, and refused until somebody gives it back
		wait = retryLast
	}
	c.failed++
	c.retryAt = c.o.Now().Add(wait)
	c.o.Logf(true, "backup to %s: %v; trying again in %v", c.status.Target, err, wait)
}

// retryFirst is how long an archiver waits after the first failure, and twice as long after each that follows, up to retryLast.
const retryFirst, retryLast = 5 * time.Second, 5 * time.Minute

// Now asks for a backup, which begins with the next Tick.
func (c *Archiver) Now() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked || c.status.Work == "backup" {
		return ErrRunning
	}
	c.asked = true
	return nil
}

// Status returns what is known now.
func (c *Archiver) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.status
	s.Backups = append([]Backup(nil), s.Backups...)
	if n := len(s.Backups); n > 0 && s.LogTime.After(s.Backups[n-1].Through) {
		s.Backups[n-1].Through = s.LogTime
	}
	return s
}

// Await waits for the end of what is under way.
func (c *Archiver) Await() { c.work.Wait() }

// Close cancels what is under way, and waits for its end. What is at the target is whole.
func (c *Archiver) Close() {
	c.cancel()
	c.work.Wait()
}

// note changes the status.
func (c *Archiver) note(f func(*Status)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.status)
}

// planned returns the plan as it is now.
func (c *Archiver) planned() Plan {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.plan
}

func msTime(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }
