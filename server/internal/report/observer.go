package report

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/tidwall/redcon"
)

const (
	// AnswerTime is how long the server may take to reply to a quick command.
	AnswerTime = 2 * time.Second
	// maxAnswer bounds the replies to one batch of calls.
	maxAnswer = 16 << 20
)

// ErrLong is returned when replies are longer than maxAnswer: there are keys of
// megabytes.
var ErrLong = errors.New("the reply is too long to be shown")

// ErrBusy is returned for a moment after a reply was late, so that waiting
// requests do not all wait for the same timeout in turn.
var ErrBusy = errors.New("the server did not reply in time; try again")

// errClosed is returned after Close.
var errClosed = errors.New("closed")

// busyTime is that moment.
const busyTime = time.Second

// Observer is a connection to the server, which is opened when it is first used.
// Requests take turns.
type Observer struct {
	dial  func() (net.Conn, error)
	Names map[string]string // what rename-command made of a name

	mu   sync.Mutex // held during a request
	nc   net.Conn   // nil: not connected; guarded by mu
	db   int        // selected; guarded by mu
	busy time.Time  // when the server was last too slow; guarded by mu

	ending sync.Mutex
	open   net.Conn // nc, for close, which does not wait; guarded by ending
	closed bool     // guarded by ending
}

// NewObserver makes an observer that connects by dial. names are what rename-command made of names.
func NewObserver(dial func() (net.Conn, error), names map[string]string) *Observer {
	return &Observer{dial: dial, Names: names}
}

// Call is a command with its arguments.
type Call []string

// Answer is the reply to a call.
type Answer struct{ redcon.RESP }

// Err is the error that the server replied, nil if there is none.
func (a Answer) Err() error {
	if a.Type != redcon.Error {
		return nil
	}
	return errors.New(string(a.Data))
}

// List are the elements of an array; nil of anything else.
func (a Answer) List() []Answer {
	if a.Type != redcon.Array {
		return nil
	}
	var all []Answer
	a.ForEach(func(r redcon.RESP) bool {
		all = append(all, Answer{r})
		return true
	})
	return all
}

// Pairs reads an array of names and values.
func (a Answer) Pairs() map[string]Answer {
	all, m := a.List(), map[string]Answer{}
	for i := 0; i+1 < len(all); i += 2 {
		m[all[i].String()] = all[i+1]
	}
	return m
}

// Ask sends calls to a database and returns a reply for each. A connection that
// was lost between requests (CLIENT KILL, timeout) is reopened, once.
func (o *Observer) Ask(patience time.Duration, db int, calls ...Call) ([]Answer, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.busy) < busyTime {
		return nil, ErrBusy
	}
	fresh := o.nc == nil
	answers, err := o.tryLocked(patience, db, calls)
	if err != nil && !fresh && !errors.Is(err, ErrLong) && !isTimeout(err) {
		answers, err = o.tryLocked(patience, db, calls)
	}
	if isTimeout(err) {
		o.busy = time.Now()
		err = ErrBusy
	}
	return answers, err
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func (o *Observer) tryLocked(patience time.Duration, db int, calls []Call) (answers []Answer, err error) {
	defer func() {
		if err != nil {
			o.hangUpLocked()
		}
	}()
	if o.nc == nil {
		if err := o.connectLocked(); err != nil {
			return nil, err
		}
	}
	var out []byte
	skip := 0
	if o.db != db {
		out, skip = o.appendCall(out, Call{"SELECT", strconv.Itoa(db)}), 1
	}
	for _, c := range calls {
		out = o.appendCall(out, c)
	}
	if err := o.nc.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return nil, err
	}
	if _, err := o.nc.Write(out); err != nil {
		return nil, err
	}
	if answers, err = o.readLocked(skip + len(calls)); err != nil {
		return nil, err
	}
	if skip == 1 {
		if err := answers[0].Err(); err != nil {
			return nil, fmt.Errorf("select database %d: %w", db, err)
		}
	}
	o.db = db
	return answers[skip:], nil
}

// appendCall writes a call under the name that the command has now. One that was
// renamed is unknown, as to any client.
func (o *Observer) appendCall(out []byte, c Call) []byte {
	out = redcon.AppendArray(out, len(c))
	for i, arg := range c {
		if name, ok := o.Names[arg]; ok && i == 0 {
			if name == "" {
				name = arg
			}
			arg = name
		}
		out = redcon.AppendBulkString(out, arg)
	}
	return out
}

// readLocked reads n replies. They share one buffer, which is theirs for good.
func (o *Observer) readLocked(n int) ([]Answer, error) {
	buf := make([]byte, 0, 16<<10)
	answers := make([]Answer, 0, n)
	for start := 0; len(answers) < n; {
		size, r := redcon.ReadNextRESP(buf[start:])
		if size > 0 {
			answers = append(answers, Answer{r})
			start += size
			continue
		}
		if len(buf) >= maxAnswer {
			return nil, ErrLong
		}
		if len(buf) == cap(buf) {
			buf = append(buf, make([]byte, len(buf))...)[:len(buf)]
		}
		got, err := o.nc.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+got]
		if err != nil && got == 0 {
			if errors.Is(err, io.EOF) {
				err = io.ErrUnexpectedEOF
			}
			return nil, fmt.Errorf("ask the server: %w", err)
		}
	}
	return answers, nil
}

func (o *Observer) connectLocked() error {
	o.ending.Lock()
	defer o.ending.Unlock()
	if o.closed {
		return errClosed
	}
	nc, err := o.dial()
	if err != nil {
		return err
	}
	o.nc, o.open, o.db = nc, nc, 0
	return nil
}

func (o *Observer) hangUpLocked() {
	if o.nc != nil {
		o.nc.Close()
		o.nc = nil
	}
}

// Close ends the connection for good, and with it what is being asked.
func (o *Observer) Close() {
	o.ending.Lock()
	defer o.ending.Unlock()
	o.closed = true
	if o.open != nil {
		o.open.Close()
	}
}
