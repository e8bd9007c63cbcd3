package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// roomBytes is how much may wait to be written; records of strangers get half of it.
	roomBytes = 4 << 20
	// again is when a write that has failed is tried again, and patience for how long Close waits for the last lines.
	again, patience = time.Second, 2 * time.Second
)

// Record is one act, or the attempt.
type Record struct {
	Time   time.Time
	Client uint64 // its number
	Addr   string
	Name   string // of the connection
	User   string
	DB     int
	Call   string // as it is shown
	Result string // OK, or the error that it got
	// Stranger is a client that has not shown who it is, as one with a wrong password.
	Stranger bool
}

// line is a record as it is written.
type line struct {
	Time   string `json:"time"`
	Client uint64 `json:"client"`
	Addr   string `json:"addr"`
	Name   string `json:"name,omitempty"`
	User   string `json:"user"`
	DB     int    `json:"db"`
	Call   string `json:"call"`
	Result string `json:"result"`
}

// encode makes the line of a record.
func encode(r *Record) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // nobody shows it in a page as it is
	// Strings and numbers can always be encoded.
	_ = e.Encode(line{stamp(r.Time), r.Client, r.Addr, r.Name, r.User, r.DB, r.Call, r.Result})
	return b.Bytes()
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// Log takes records. A nil *Log takes none. Its methods are safe for concurrent use.
type Log struct {
	open func() (io.WriteCloser, error) // nil if there is nothing to open
	warn func(text string)              // what an operator should know
	now  func() time.Time

	mu     sync.Mutex
	queue  [][]byte       // guarded by mu
	bytes  int            // in queue, and of what is being written; guarded by mu
	lost   int            // since the last line that says so; guarded by mu
	next   io.WriteCloser // what Reopen has opened; guarded by mu
	closed bool           // nothing more is taken; guarded by mu
	given  bool           // Close waits no longer; guarded by mu

	wake chan struct{} // has room for one: there is something to do
	done chan struct{} // closed when the writer has ended
}

// Open appends records to a file, which it makes if needed, for its owner alone. warn gets what goes wrong later.
func Open(path string, warn func(text string)) (*Log, error) {
	open := func() (io.WriteCloser, error) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return nil, fmt.Errorf("open the audit log: %w", err)
		}
		return f, nil
	}
	f, err := open()
	if err != nil {
		return nil, err
	}
	return start(f, open, warn), nil
}

// To passes each record to write, as a line without its end.
func To(write func(text string), warn func(text string)) *Log {
	return start(lines(write), nil, warn)
}

// lines is a function as a file.
type lines func(text string)

func (l lines) Write(b []byte) (int, error) {
	l(string(bytes.TrimSuffix(b, []byte("\n"))))
	return len(b), nil
}

func (l lines) Close() error { return nil }

func start(out io.WriteCloser, open func() (io.WriteCloser, error), warn func(text string)) *Log {
	l := &Log{open: open, warn: warn, now: time.Now, wake: make(chan struct{}, 1), done: make(chan struct{})}
	go l.write(out) // until Close
	return l
}

// Add takes a record, and waits for nothing.
func (l *Log) Add(r Record) {
	if l == nil {
		return
	}
	b := encode(&r)
	room := roomBytes
	if r.Stranger {
		room /= 2
	}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return
	}
	if l.bytes+len(b) > room {
		l.lost++
		first := l.lost == 1
		l.mu.Unlock()
		if first {
			l.warn("The audit log cannot be written as fast as it grows, and records are lost")
		}
		return
	}
	l.queue = append(l.queue, b)
	l.bytes += len(b)
	l.mu.Unlock()
	l.kick()
}

func (l *Log) kick() {
	select {
	case l.wake <- struct{}{}:
	default: // it is to look already
	}
}

// Reopen opens the file by its name again, for programs that rotate it. After an error the log goes on where it was.
func (l *Log) Reopen() error {
	if l == nil || l.open == nil {
		return nil
	}
	f, err := l.open()
	if err != nil {
		return err
	}
	l.mu.Lock()
	former := l.next // which nothing was written to yet
	l.next = f
	l.mu.Unlock()
	if former != nil {
		former.Close()
	}
	l.kick()
	return nil
}

// Close writes what is left, for as long as patience lasts: a disk that hangs does not keep the server from ending.
func (l *Log) Close() {
	if l == nil {
		return
	}
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.kick()
	select {
	case <-l.done:
	case <-time.After(patience):
		l.mu.Lock()
		l.given = true
		l.mu.Unlock()
		l.kick()
		l.warn("The audit log cannot be written: its last records are lost")
	}
}

// write is the goroutine of a log.
func (l *Log) write(out io.WriteCloser) {
	defer close(l.done)
	defer func() { out.Close() }()
	var batch [][]byte
	failing := false
	for {
		out = l.rotated(out)
		for {
			if len(batch) == 0 {
				if batch = l.take(); len(batch) == 0 {
					break
				}
			}
			n, err := out.Write(batch[0])
			l.written(n)
			if batch[0] = batch[0][n:]; len(batch[0]) == 0 {
				batch, failing = batch[1:], false
				continue
			}
			if !failing {
				failing = true
				l.warn(fmt.Sprintf("The audit log cannot be written: %v", err))
			}
			break
		}
		var retry <-chan time.Time
		switch {
		case l.finished(len(batch)):
			return
		case len(batch) > 0:
			retry = time.After(again)
		}
		select {
		case <-l.wake:
		case <-retry:
		}
	}
}

// rotated returns what is to be written to: another file after Reopen.
func (l *Log) rotated(out io.WriteCloser) io.WriteCloser {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.next == nil {
		return out
	}
	out.Close()
	out, l.next = l.next, nil
	return out
}

// take empties the queue. After a loss its last line says how many records are missing behind those before it.
func (l *Log) take() (batch [][]byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	batch, l.queue = l.queue, nil
	if l.lost > 0 {
		b := fmt.Appendf(nil, "{\"time\":%q,\"lost\":%d}\n", stamp(l.now()), l.lost)
		batch, l.lost = append(batch, b), 0
		l.bytes += len(b)
	}
	return batch
}

// written makes room.
func (l *Log) written(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.bytes -= n
}

// finished reports whether nothing is left, the lines of the writer included, and nothing will come; or nobody waits for it.
func (l *Log) finished(left int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.given || l.closed && left == 0 && len(l.queue) == 0 && l.lost == 0
}
