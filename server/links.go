package server

import (
	"bufio"
	"context"
	"errors"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/keys"
	"github.com/vigildb/vigil/persistence"
)

const (
	// linkIdle is how long a connection to another server is kept for the next MIGRATE.
	linkIdle = 10 * time.Second
	// maxLinks is the most connections that are kept, and maxLinksBusy the most in use.
	maxLinks, maxLinksBusy = 64, 16
	// linkChunk is what is written before the timeout begins anew, in bytes.
	linkChunk = 64 << 10
	// maxLinkLine is the longest reply of another server that is read, in bytes.
	maxLinkLine = 4 << 10
)

// link is a connection to another server. It belongs to one call at a time, and is kept
// only if that has succeeded, for those with the same name and password.
type link struct {
	conn  net.Conn
	lines *bufio.Reader
	since time.Time // when it was last used
}

// links are the connections that are kept for MIGRATE.
type links struct {
	mu   sync.Mutex
	idle map[keys.Peer]*link // guarded by mu
	busy int                 // calls that use one; guarded by mu
}

// begin takes the connection to a peer if there is one. ok: one more call may use one.
func (l *links) begin(to keys.Peer) (kept *link, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy >= maxLinksBusy {
		return nil, false
	}
	l.busy++
	kept = l.idle[to]
	delete(l.idle, to)
	return kept, true
}

// end gives a connection back; nil is one that has failed.
func (l *links) end(to keys.Peer, used *link, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.busy--
	if used == nil {
		return
	}
	if l.idle == nil {
		l.idle = map[keys.Peer]*link{}
	}
	if len(l.idle) >= maxLinks || l.idle[to] != nil {
		used.conn.Close()
		return
	}
	used.since = now
	l.idle[to] = used
}

func (l *links) size() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.idle)
}

// dropIdle closes connections that have not been used for a while.
func (l *links) dropIdle(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for to, k := range l.idle {
		if now.Sub(k.since) >= linkIdle {
			k.conn.Close()
			delete(l.idle, to)
		}
	}
}

func (l *links) closeAll() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, k := range l.idle {
		k.conn.Close()
	}
	l.idle = nil
}

// Exchange implements [keys.Remote]. A kept connection that the peer has closed meanwhile
// is replaced once.
func (h host) Exchange(ctx context.Context, to keys.Peer, request []byte, n int, timeout time.Duration) (lines []string, err error) {
	l := &h.srv.links
	kept, ok := l.begin(to)
	if !ok {
		return nil, keys.ErrMigrateBusy
	}
	h.srv.computes.Abroad(func() {
		var used *link
		if kept != nil {
			used, lines, err = kept.talk(ctx, request, n, timeout)
		}
		if kept == nil || err != nil && len(lines) == 0 && !errors.Is(err, os.ErrDeadlineExceeded) && ctx.Err() == nil {
			used, lines, err = callPeer(ctx, to, request, n, timeout)
		}
		l.end(to, used, h.srv.clock.Now())
	})
	var step linkError
	if errors.As(err, &step) {
		err = step.says
	}
	return lines, err
}

// linkError is a failed step of an exchange, and what clients are told of it.
type linkError struct {
	error
	says commands.WireError
}

func (e linkError) Unwrap() error { return e.error }

// callPeer talks to a peer on a new connection.
func callPeer(ctx context.Context, to keys.Peer, request []byte, n int, timeout time.Duration) (used *link, lines []string, err error) {
	dialer := net.Dialer{Timeout: timeout}
	conn, err := dialer.DialContext(ctx, "tcp", net.JoinHostPort(to.Host, to.Port))
	if errors.Is(err, syscall.ECONNREFUSED) { // Redis connects in the background and learns it by writing
		return nil, nil, linkError{err, keys.ErrMigrateWrite}
	} else if err != nil {
		return nil, nil, linkError{err, keys.ErrMigrateConnect}
	}
	k := &link{conn: conn, lines: bufio.NewReaderSize(conn, maxLinkLine)}
	return k.talk(ctx, request, n, timeout)
}

// talk writes a request and reads the n replies to it, as long as something is written or
// read within the timeout. It returns the connection if it can be used again, and closes
// it otherwise. The end of ctx ends it.
func (k *link) talk(ctx context.Context, request []byte, n int, timeout time.Duration) (used *link, lines []string, err error) {
	stop := context.AfterFunc(ctx, func() { k.conn.Close() })
	sent := make(chan error, 1) // the one result of the writer
	go func() { sent <- k.write(request, timeout) }()
	for err == nil && len(lines) < n {
		var line string
		if line, err = k.read(timeout); err == nil {
			lines = append(lines, line)
		}
	}
	if err != nil {
		k.conn.Close() // which ends the writer
		err = linkError{err, keys.ErrMigrateRead}
	}
	if failed := <-sent; failed != nil && len(lines) == 0 && !errors.Is(failed, net.ErrClosed) {
		err = linkError{failed, keys.ErrMigrateWrite}
	}
	if !stop() || err != nil {
		k.conn.Close()
		return nil, lines, err
	}
	return k, lines, nil
}

// write sends a request in chunks.
func (k *link) write(request []byte, timeout time.Duration) error {
	for chunk := range slices.Chunk(request, linkChunk) {
		if err := k.conn.SetDeadline(time.Now().Add(timeout)); err != nil {
			return err
		}
		if _, err := k.conn.Write(chunk); err != nil {
			return err
		}
	}
	return nil
}

// errNoReply is anything but OK or an error: the peer is no server of this protocol.
var errNoReply = errors.New("the peer sent something else than OK or an error")

// read returns a reply without its end of line.
func (k *link) read(timeout time.Duration) (string, error) {
	if err := k.conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		return "", err
	}
	line, err := k.lines.ReadSlice('\n')
	if err != nil {
		return "", err
	}
	text := strings.TrimRight(string(line), "\r\n")
	if text != "+OK" && !strings.HasPrefix(text, "-") {
		return "", errNoReply
	}
	return text, nil
}

// Settle implements [keys.Remote]. It waits for the end of a script that has one of the
// keys, however long that takes.
func (h host) Settle(db int, names [][]byte, change func(c *commands.Ctx)) error {
	s := makeSession(h.srv, h.srv.store.NewTx())
	s.SetDB(db)
	s.ctx.Client, s.ctx.Host, s.ctx.Table, s.ctx.Tx = &s.Client, s, h.srv.table, s.tx
	s.turn.start(h.srv.clock.Now())
	s.ctx.Now = s.turn.millis()
	s.in.argv = names
	for i, key := range names {
		s.keys = append(s.keys, commands.KeyRef{Index: i})
		s.shards.Add(s.tx.Expect(key))
	}
	want := s.shards
	for s.locked = s.lockToServe(); !s.locked; s.locked = s.lockToServe() {
		if h.srv.waitABit(); h.srv.done.Err() != nil {
			return h.srv.done.Err()
		}
		s.shards = want
	}
	if !s.tx.Writable() || h.srv.following.readOnly() {
		s.release()
		return persistence.ErrNotLeader
	}
	for _, key := range names {
		switch waits, gone := h.srv.mayChange(key); {
		case waits:
			s.release()
			if h.srv.waitABit(); h.srv.done.Err() != nil {
				return h.srv.done.Err()
			}
			return h.Settle(db, names, change)
		case gone:
			s.release()
			return persistence.ErrNotLeader
		}
	}
	s.tx.Select(db)
	s.tx.OnChange = s.changed
	change(&s.ctx)
	s.commit()
	s.release()
	lsn, always := s.durability.Awaited(), h.srv.settings().syncAlways
	if lsn == 0 || !always && !s.durability.big {
		return nil
	}
	var err error
	h.srv.computes.Abroad(func() { err = h.srv.journal.WaitDurable(lsn) })
	if !always {
		return nil // a big record is waited for only to slow its client down
	}
	return err
}
