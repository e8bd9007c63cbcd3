package replica

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vigildb/vigil/structures/aof"
)

const (
	// mostArguments is the number of arguments of a command that is read.
	mostArguments = 1 << 28
	// callBytes is what a call of a transaction takes beside its arguments.
	callBytes = 64
	// mostUnnoted is how many bytes of the stream without effects are not noted: they would have to be sent again.
	mostUnnoted = 64 << 10
)

var errMulti = errors.New("the stream has MULTI within MULTI")

// stream is the reading of the commands of a connection.
type stream struct {
	c     *conn
	in    *aof.Reader
	db    int
	noted int64 // an offset that the data knew

	multi bool
	queue []Call // of the transaction
	bytes uint64 // that they take
	begin int64  // where the transaction begins
	outer int    // the database there
	one   [1]Call
}

// follow applies the stream from a position on until it ends. The data knows how far it has got then.
func (c *conn) follow(from Position) (err error) {
	limits := aof.Limits{Arg: c.set.MaxArgument, Args: mostArguments, Total: c.set.MaxCommand, Stream: true}
	s := &stream{c: c, in: aof.NewReader(c.commands, from.Offset, limits), db: from.DB, noted: from.Offset}
	if !c.old {
		c.acks.Go(c.acknowledge) // ends with the connection
	}
	for err == nil {
		var args [][]byte
		if args, err = s.in.Next(); err == nil {
			c.f.read.Store(s.in.End())
			err = s.command(args)
		}
	}
	if s.multi {
		s.db = s.outer // which begins anew
	}
	if at := c.f.applied.Load(); at > c.f.data.Position().Offset {
		err = errors.Join(err, c.f.data.Note(at, s.db))
	}
	return err
}

// word is the name of a command in upper case, if it is one that is looked for here.
func word(name []byte) string {
	if len(name) > len("REPLCONF") {
		return ""
	}
	return strings.ToUpper(string(name))
}

// command takes one command.
func (s *stream) command(args [][]byte) error {
	switch word(args[0]) {
	case "PING":
	case "REPLCONF":
		// What it asks for excludes itself.
		if len(args) > 1 && strings.EqualFold(string(args[1]), "GETACK") {
			if err := s.c.ack(); err != nil {
				return err
			}
		}
	case "SELECT":
		return s.choose(args)
	case "MULTI":
		if s.multi {
			return s.failed(args, errMulti.Error())
		}
		s.multi, s.begin, s.outer = true, s.in.Offset(), s.db
		return nil
	case "DISCARD":
		if s.multi {
			s.db = s.outer
		}
		s.drop()
	case "EXEC":
		if !s.multi {
			return s.failed(args, "there is no MULTI")
		}
		calls := s.queue
		s.drop()
		return s.apply(calls)
	default:
		if s.multi {
			return s.add(args)
		}
		s.one[0] = Call{s.db, args}
		return s.apply(s.one[:])
	}
	return s.pass()
}

// drop ends the transaction.
func (s *stream) drop() { s.multi, s.queue, s.bytes = false, nil, 0 }

// add adds a command to the transaction.
func (s *stream) add(args [][]byte) error {
	call := Call{s.db, make([][]byte, len(args))}
	s.bytes += callBytes
	for i, a := range args {
		call.Args[i] = slices.Clone(a)
		s.bytes += uint64(len(a)) + callBytes
	}
	if s.bytes > s.c.set.MaxCommand {
		return fmt.Errorf("offset %d: the transaction that begins here is longer than %d bytes", s.begin, s.c.set.MaxCommand)
	}
	s.queue = append(s.queue, call)
	return nil
}

// choose is SELECT.
func (s *stream) choose(args [][]byte) error {
	db, err := -1, errors.New("") // of no number
	if len(args) == 2 {
		db, err = strconv.Atoi(string(args[1]))
	}
	if err != nil || db < 0 || db >= s.c.set.Databases {
		return s.failed(args, fmt.Sprintf("there are %d databases: raise the directive databases", s.c.set.Databases))
	}
	s.db = db
	return s.pass()
}

// apply applies calls, which end at the place of the reader.
func (s *stream) apply(calls []Call) error {
	end := s.in.End()
	if len(calls) == 0 {
		return s.pass()
	}
	if err := s.c.f.data.Apply(calls, end, s.db, s.passes); err != nil {
		var failed *CommandError
		if errors.As(err, &failed) {
			return fmt.Errorf("offset %d: %w", s.in.Offset(), err)
		}
		return err
	}
	return s.arrived(end)
}

// pass goes over a command without effects. Within a transaction the position stays before it.
func (s *stream) pass() error {
	if s.multi {
		return nil
	}
	return s.arrived(s.in.End())
}

// arrived says that the stream was applied up to an offset. The data knows it by itself if that had effects.
func (s *stream) arrived(offset int64) error {
	s.c.f.applied.Store(offset)
	if offset-s.noted <= mostUnnoted {
		return nil
	}
	if s.noted = s.c.f.data.Position().Offset; offset-s.noted <= mostUnnoted {
		return nil
	}
	s.noted = offset
	return s.c.f.data.Note(offset, s.db)
}

// failed is the error of a command that cannot be followed, whatever the settings.
func (s *stream) failed(args [][]byte, text string) error {
	return fmt.Errorf("offset %d: %w", s.in.Offset(), &CommandError{Args: args, Text: text})
}

// passes reports whether to go on without a command that failed, and counts it.
func (s *stream) passes(err *CommandError) bool {
	set := s.c.f.o.Settings() // which may have changed
	if !set.PassErrors && !(err.Unknown && set.PassUnknown) {
		return false
	}
	f := s.c.f
	if n := f.passed.Add(1); n&(n-1) == 0 { // the 1st, 2nd, 4th, 8th...
		f.o.Logf(true, "Passed over %d commands of the master that fail, the last at offset %d: %v", n, s.in.Offset(), err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status.LastFailed = err.Error()
	return true
}

// acknowledge tells the master how much was applied, at once and then every second.
func (c *conn) acknowledge() {
	tick := time.NewTicker(ackPeriod)
	defer tick.Stop()
	for {
		if err := c.ack(); err != nil {
			c.hangUp() // the reader finds out
			return
		}
		select {
		case <-tick.C:
		case <-c.ended:
			return
		}
	}
}

// ack tells the master how much was applied, and how much of that is on the device.
func (c *conn) ack() error {
	words := []string{"REPLCONF", "ACK", strconv.FormatInt(c.f.applied.Load(), 10)}
	if c.f.o.Durable != nil {
		words = append(words, "FACK", strconv.FormatInt(c.f.o.Durable(), 10))
	}
	return c.send(words...)
}
