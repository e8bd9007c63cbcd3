package server

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/server/importer"
)

// transfers are the imports, or the exports, of a server: there is one at a time.
type transfers struct {
	mu   sync.Mutex
	last *transfer // nil before the first; guarded by mu
}

// transfer is an import or an export.
type transfer struct {
	srv    *Server
	what   string // "import" or "export"
	path   string
	began  time.Time
	ctx    context.Context
	cancel context.CancelFunc
	done   func() importer.Summary // what was done so far, with mu held

	mu    sync.Mutex
	ended time.Time // zero while it runs; guarded by mu
	err   error     // guarded by mu
}

// begin registers a transfer, which await or goOn runs. Its context ends with ctx, with the server, and by stop.
func (t *transfers) begin(ctx context.Context, srv *Server, what, path string, done func() importer.Summary) (*transfer, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.last.running() {
		return nil, fmt.Errorf("an %s is under way", what)
	}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if srv.closed {
		return nil, ErrClosed
	}
	srv.workers.Add(1) // run calls Done
	j := &transfer{srv: srv, what: what, path: path, began: srv.clock.Now(), done: done}
	j.ctx, j.cancel = context.WithCancel(ctx)
	context.AfterFunc(srv.done, j.cancel)
	t.last = j
	return j, nil
}

func (j *transfer) running() bool {
	if j == nil {
		return false
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.ended.IsZero()
}

// run makes the transfer, and notes how it has ended.
func (j *transfer) run(work func() error) {
	defer j.srv.workers.Done()
	defer j.cancel()
	err := work()
	j.mu.Lock()
	defer j.mu.Unlock()
	j.ended, j.err = j.srv.clock.Now(), err
}

// view returns what was done so far, and how the transfer has ended.
func (j *transfer) view() (importer.Summary, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.done(), j.err
}

// await runs the transfer and returns when it has ended. progress, if it is not nil, is called about once a second.
func (j *transfer) await(work func() error, progress func(importer.Summary)) (importer.Summary, error) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		j.run(work)
	}()
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ended:
			return j.view()
		case <-tick.C:
			if s, _ := j.view(); progress != nil {
				progress(s)
			}
		}
	}
}

// goOn runs the transfer in the background. Close waits for it.
func (j *transfer) goOn(work func() error) {
	go j.run(func() error {
		err := work()
		if err != nil {
			j.srv.logf(logWarning, "%s %s failed: %v", j.what, j.path, err)
		} else {
			s, _ := j.view()
			j.srv.logf(logNotice, "%s %s: %d keys", j.what, j.path, s.All)
		}
		return err
	})
}

// status describes the transfer under way, or the last one.
func (t *transfers) status(now time.Time) admin.Transfer {
	t.mu.Lock()
	j := t.last
	t.mu.Unlock()
	if j == nil {
		return admin.Transfer{State: "none"}
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	s, state, ended := j.done(), admin.Transfer{State: "done"}, j.ended
	if ended.IsZero() {
		state.State, ended = "running", now
	} else if j.err != nil {
		state.State, state.Error = "failed", j.err.Error()
	}
	state.Path, state.Keys, state.Bytes, state.Total, state.Lines = filepath.Base(j.path), s.All, s.Bytes, s.Total, s.Lines()
	state.Seconds = ended.Sub(j.began).Seconds()
	return state
}

// stop ends the transfer under way, and reports whether there was one.
func (t *transfers) stop() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.last.running() {
		return false
	}
	t.last.cancel()
	return true
}
