package replica

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// formatVersion is the version of Valkey whose files are read. Valkey sends files without expiries of fields to replicas that do not say
// it, and so none if there are any. Redis does not know it.
const formatVersion = "9.0.0"

// handshake introduces the replica. Each step waits for its reply.
func (c *conn) handshake() error {
	reply, err := c.ask("PING")
	if err != nil {
		return err
	}
	if !strings.HasPrefix(reply, "+") && !strings.HasPrefix(reply, "-NOAUTH") && !strings.HasPrefix(reply, "-NOPERM") &&
		!strings.HasPrefix(reply, "-ERR operation not permitted") {
		return fmt.Errorf("reply to PING: %s", shown(reply))
	}
	if err := c.authenticate(); err != nil {
		return err
	}
	steps := [][]string{{"REPLCONF", "listening-port", strconv.Itoa(c.set.AnnouncePort)}}
	if c.set.AnnounceHost != "" {
		steps = append(steps, []string{"REPLCONF", "ip-address", c.set.AnnounceHost})
	}
	steps = append(steps, []string{"REPLCONF", "capa", "eof", "capa", "psync2"}, []string{"REPLCONF", "version", formatVersion})
	for _, words := range steps {
		reply, err := c.ask(words...)
		if err != nil {
			return err
		}
		if strings.HasPrefix(reply, "-") {
			c.f.o.Logf(false, "The master does not understand REPLCONF %s, which does not matter: %s", words[1], shown(reply))
		}
	}
	return nil
}

func (c *conn) authenticate() error {
	var words []string
	switch {
	case c.set.Password == "":
		return nil
	case c.set.User != "":
		words = []string{"AUTH", c.set.User, c.set.Password}
	default:
		words = []string{"AUTH", c.set.Password}
	}
	reply, err := c.ask(words...)
	if err == nil && !strings.HasPrefix(reply, "+") {
		err = fmt.Errorf("the master refuses masteruser and masterauth: %s", strings.ReplaceAll(shown(reply), c.set.Password, "***"))
	}
	return err
}

// shown is a line of the master as the log shows it.
func shown(line string) string {
	const most = 200
	if len(line) > most {
		return fmt.Sprintf("%q...", line[:most])
	}
	return fmt.Sprintf("%q", line)
}

// begin asks for the stream, takes the whole data if it has to, and returns where the stream goes on.
func (c *conn) begin(ctx context.Context) (Position, error) {
	at := c.f.data.Position()
	words := []string{"PSYNC", "?", "-1"}
	if at.ID != "" {
		words = []string{"PSYNC", at.ID, strconv.FormatInt(at.Offset+1, 10)}
	}
	handsOver := c.f.o.TakeOver != nil && !c.f.taken
	if handsOver {
		words = append(words, "FAILOVER")
	}
	reply, err := c.ask(words...)
	if err != nil {
		return at, err
	}
	word, rest, _ := strings.Cut(reply, " ")
	if handsOver {
		if err := c.f.handedOver(word, reply); err != nil {
			return at, err
		}
	}
	switch word {
	case "+CONTINUE":
		if at.ID == "" {
			return at, errors.New("the master goes on with a stream that it was not asked for")
		}
		return at, c.goOn(&at, rest)
	case "+FULLRESYNC":
		next, err := fullResync(rest)
		if err != nil {
			return at, err
		}
		return next, c.sync(ctx, next, "")
	case "-NOMASTERLINK", "-LOADING", "-MASTERDOWN":
		return at, fmt.Errorf("the master cannot do it now: %s", shown(reply))
	}
	if !strings.HasPrefix(reply, "-") {
		return at, fmt.Errorf("reply to PSYNC: %s", shown(reply))
	}
	c.f.o.Logf(false, "The master does not understand PSYNC: %s", shown(reply))
	if reply, err = c.ask("SYNC"); err != nil {
		return at, err
	}
	c.old = true
	next := Position{}
	return next, c.sync(ctx, next, reply)
}

// handedOver takes the reply of a server that was asked to be the master.
func (f *Follower) handedOver(word, reply string) error {
	switch word {
	case "+CONTINUE", "+FULLRESYNC":
		f.taken = true
		f.o.TakeOver(nil)
		return nil
	}
	err := fmt.Errorf("the replica does not take over: %s", shown(reply))
	f.o.TakeOver(err)
	return err
}

// goOn takes the rest of +CONTINUE, which may be another ID.
func (c *conn) goOn(at *Position, id string) error {
	if id = strings.TrimSpace(id); id == "" || id == at.ID {
		return nil
	}
	if !isID(id) {
		return fmt.Errorf("the master goes on with the ID %s", shown(id))
	}
	c.f.o.Logf(false, "The master has another replication ID now: %s, before %s up to offset %d", id, at.ID, at.Offset)
	if err := c.f.data.Rename(id, at.Offset); err != nil {
		return err
	}
	at.ID = id
	return nil
}

// isID reports whether a word is a replication ID.
func isID(s string) bool {
	for _, r := range s {
		if (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return false
		}
	}
	return len(s) == 40
}

// fullResync reads the rest of +FULLRESYNC.
func fullResync(rest string) (Position, error) {
	id, number, _ := strings.Cut(rest, " ")
	offset, err := strconv.ParseInt(number, 10, 64)
	if !isID(id) || err != nil || offset < 0 {
		return Position{}, fmt.Errorf("the master begins with ID and offset %s", shown(rest))
	}
	return Position{ID: id, Offset: offset}, nil
}

// marker is the length of what ends a file whose size is not known.
const marker = 40

// sync takes the whole data, whose first line may have been read already.
func (c *conn) sync(ctx context.Context, at Position, first string) (err error) {
	c.f.enter(Syncing)
	for first == "" {
		if first, err = c.line(); err != nil {
			return fmt.Errorf("wait for the file: %w", err)
		}
	}
	end, marked := strings.CutPrefix(first, "$EOF:")
	size := int64(-1)
	if marked {
		if len(end) != marker {
			return fmt.Errorf("the master sent an end mark of %d bytes", len(end))
		}
	} else if size, err = strconv.ParseInt(strings.TrimPrefix(first, "$"), 10, 64); err != nil || size < 0 || first[0] != '$' {
		return fmt.Errorf("the master sent %s in place of a file", shown(first))
	}
	c.f.syncing(size)
	c.f.o.Logf(false, "MASTER <-> REPLICA sync: receiving %d bytes (-1: until its end) from the master, while clients see the old data", size)
	file := io.Reader(counted{c.in, c.f})
	if !marked {
		file = io.LimitReader(file, size)
	}
	s, err := c.f.data.Read(ctx, file, size)
	if err != nil {
		return fmt.Errorf("receive the data: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	if err := c.ends(s.Rest(), end, size); err != nil {
		return err
	}
	if err := s.Keep(at); err != nil {
		return fmt.Errorf("take over the data: %w", err)
	}
	return nil
}

// ends checks what follows the file, and lets the stream be read behind that.
func (c *conn) ends(rest io.Reader, end string, size int64) error {
	if size >= 0 {
		if n, err := rest.Read(make([]byte, 1)); n > 0 || err != io.EOF {
			return fmt.Errorf("the file ends before the %d bytes that the master has announced", size)
		}
		return nil
	}
	var got [marker]byte
	if _, err := io.ReadFull(rest, got[:]); err != nil {
		return fmt.Errorf("wait for the end mark: %w", err)
	}
	if string(got[:]) != end {
		return errors.New("the end mark is not behind the file")
	}
	c.commands = rest
	return nil
}

// syncing notes that a file comes.
func (f *Follower) syncing(size int64) {
	f.syncRead.Store(0)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status.SyncTotal = size
}

// counted counts what is read of a file.
type counted struct {
	in io.Reader
	f  *Follower
}

func (r counted) Read(b []byte) (int, error) {
	n, err := r.in.Read(b)
	r.f.syncRead.Add(int64(n))
	return n, err
}
