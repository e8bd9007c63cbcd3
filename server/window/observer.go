package window

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/redcon"

	"github.com/vigildb/vigil/server/conf"
)

const (
	// answerTime is how long the server may take to reply to a quick command.
	answerTime = 2 * time.Second
	// maxAnswer bounds the replies to one batch of calls.
	maxAnswer = 16 << 20
)

// errAnswer is returned when replies are longer than maxAnswer: there are keys of
// megabytes.
var errAnswer = errors.New("the reply is too long to be shown")

// errBusy is returned for a moment after a reply was late, so that waiting
// requests do not all wait for the same timeout in turn.
var errBusy = errors.New("the server did not reply in time; try again")

// busyTime is that moment.
const busyTime = time.Second

// observer is a connection to the server, which is opened when it is first used.
// Requests take turns.
type observer struct {
	dial  func() (net.Conn, error)
	names map[string]string // what rename-command made of a name

	mu   sync.Mutex // held during a request
	nc   net.Conn   // nil: not connected; guarded by mu
	db   int        // selected; guarded by mu
	busy time.Time  // when the server was last too slow; guarded by mu

	ending sync.Mutex
	open   net.Conn // nc, for close, which does not wait; guarded by ending
	closed bool     // guarded by ending
}

func newObserver(dial func() (net.Conn, error), names map[string]string) *observer {
	return &observer{dial: dial, names: names}
}

// renamed are the names that rename-command took away, and what they became.
func renamed(list []conf.Rename) map[string]string {
	names := map[string]string{}
	for _, r := range list {
		names[strings.ToUpper(r.From)] = r.To
	}
	return names
}

// call is a command with its arguments.
type call []string

// answer is the reply to a call.
type answer struct{ redcon.RESP }

// err is the error that the server replied, nil if there is none.
func (a answer) err() error {
	if a.Type != redcon.Error {
		return nil
	}
	return errors.New(string(a.Data))
}

// list are the elements of an array; nil of anything else.
func (a answer) list() []answer {
	if a.Type != redcon.Array {
		return nil
	}
	var all []answer
	a.ForEach(func(r redcon.RESP) bool {
		all = append(all, answer{r})
		return true
	})
	return all
}

// pairs reads an array of names and values.
func (a answer) pairs() map[string]answer {
	all, m := a.list(), map[string]answer{}
	for i := 0; i+1 < len(all); i += 2 {
		m[all[i].String()] = all[i+1]
	}
	return m
}

// ask sends calls to a database and returns a reply for each. A connection that
// was lost between requests (CLIENT KILL, timeout) is reopened, once.
func (o *observer) ask(patience time.Duration, db int, calls ...call) ([]answer, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Since(o.busy) < busyTime {
		return nil, errBusy
	}
	fresh := o.nc == nil
	answers, err := o.tryLocked(patience, db, calls)
	if err != nil && !fresh && !errors.Is(err, errAnswer) && !isTimeout(err) {
		answers, err = o.tryLocked(patience, db, calls)
	}
	if isTimeout(err) {
		o.busy = time.Now()
		err = errBusy
	}
	return answers, err
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func (o *observer) tryLocked(patience time.Duration, db int, calls []call) (answers []answer, err error) {
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
		out, skip = o.appendCall(out, call{"SELECT", strconv.Itoa(db)}), 1
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
		if err := answers[0].err(); err != nil {
			return nil, fmt.Errorf("select database %d: %w", db, err)
		}
	}
	o.db = db
	return answers[skip:], nil
}

// appendCall writes a call under the name that the command has now. One that was
// renamed is unknown, as to any client.
func (o *observer) appendCall(out []byte, c call) []byte {
	out = redcon.AppendArray(out, len(c))
	for i, arg := range c {
		if name, ok := o.names[arg]; ok && i == 0 {
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
func (o *observer) readLocked(n int) ([]answer, error) {
	buf := make([]byte, 0, 16<<10)
	answers := make([]answer, 0, n)
	for start := 0; len(answers) < n; {
		size, r := redcon.ReadNextRESP(buf[start:])
		if size > 0 {
			answers = append(answers, answer{r})
			start += size
			continue
		}
		if len(buf) >= maxAnswer {
			return nil, errAnswer
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

func (o *observer) connectLocked() error {
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

func (o *observer) hangUpLocked() {
	if o.nc != nil {
		o.nc.Close()
		o.nc = nil
	}
}

// close ends the connection for good, and with it what is being asked.
func (o *observer) close() {
	o.ending.Lock()
	defer o.ending.Unlock()
	o.closed = true
	if o.open != nil {
		o.open.Close()
	}
}
