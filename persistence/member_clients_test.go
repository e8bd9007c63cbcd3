package persistence

import (
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vigildb/vigil/persistence/journal"
)

// client writes numbers under a key of its own, on whatever member takes them, and never
// one twice.
type client struct {
	w         *world
	key       []byte
	confirmed uint64 // the newest number that was confirmed
	read      uint64 // the newest number that was read and confirmed
}

// write writes a number, and reports whether that was confirmed.
func (c *client) write(n *node, number uint64) (ok bool, err error) {
	tx := n.s.NewTx()
	position := uint64(0)
	if !lockKey(tx, c.key) {
		return false, errors.New("not locked")
	}
	if tx.Writable() {
		tx.SetString(c.key, strconv.AppendUint(nil, number, 10), NoExpiry)
		position = tx.Commit()
	}
	tx.Unlock()
	if position == 0 {
		return false, nil
	}
	if err := n.s.commits.WaitDurable(position); err != nil {
		if !errors.Is(err, ErrNotLeader) && !errors.Is(err, journal.ErrAbandoned) {
			return false, err
		}
		return false, nil
	}
	c.confirmed = number
	return true, nil
}

// look reads the key on a member, and keeps what was read if the reply may be sent.
func (c *client) look(n *node) error {
	number, position := n.number(c.key)
	if n.s.commits.WaitDurable(position) != nil {
		return nil
	}
	c.read = max(c.read, number)
	return nil
}

func lockKey(tx *Tx, key []byte) bool {
	var set Shards
	set.Add(tx.s.Hash(key))
	return tx.Lock(&set, 1000)
}

// number is what a member has under a key, and the position on which that depends.
func (n *node) number(key []byte) (number, position uint64) {
	tx := n.s.NewTx()
	lockKey(tx, key)
	defer tx.Unlock()
	b, _, _ := tx.String(key)
	number, _ = strconv.ParseUint(string(b), 10, 64)
	return number, tx.Seen()
}

// Clients that write and read at the same time, while leaders come and go and values are written
// behind their backs, find what was confirmed to them, and what they have seen, in the end.
func TestClientsOfChangingLeadersLoseNothing(t *testing.T) {
	w := newWorld(t, 3, 16<<10)
	w.close()
	w.states, w.live = nil, true
	w.open()
	defer w.close()
	const writes = 150 // of each client that are confirmed
	clients := make([]*client, 4)
	var all sync.WaitGroup
	var failed atomic.Bool
	for i := range clients {
		c := &client{w: w, key: strconv.AppendInt([]byte("client"), int64(i), 10)}
		clients[i] = c
		all.Go(func() {
			for number, done := uint64(1), 0; done < writes && !failed.Load(); number++ {
				n := w.nodes[number%3]
				ok, err := c.write(n, number)
				if err = errors.Join(err, c.look(n)); err != nil {
					t.Error(err)
					failed.Store(true)
				}
				if ok {
					done++
				}
			}
		})
	}
	over := make(chan struct{})
	go func() {
		all.Wait()
		close(over)
	}()
	for step, running := 0, true; running; step++ {
		n, o := w.nodes[w.r.IntN(3)], w.nodes[w.r.IntN(3)]
		n.propose()
		n.send(o)
		n.count()
		if w.term == 0 || w.r.IntN(100) == 0 {
			w.elect(n, o)
		}
		select {
		case <-over:
			running = false
		default:
		}
	}
	n := w.settle()
	for _, c := range clients {
		if got, _ := n.number(c.key); got < max(c.confirmed, c.read) {
			t.Errorf("%s has %d, but %d was confirmed and %d read", c.key, got, c.confirmed, c.read)
		}
	}
	t.Logf("%d elections, %d rollbacks", w.term, w.effects["roll back"])
}
