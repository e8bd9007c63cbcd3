package commands_test

import (
	"context"
	"errors"
	"testing"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/commandtest"
	"github.com/vigildb/vigil/persistence"
)

// relocker is a host whose keys change some times, each time that somebody works without their locks.
type relocker struct {
	commands.Host
	r       *commandtest.Rig
	changes int // to come
	open    int // observations
}

func (h *relocker) Observe(int, [][]byte) commands.Observation {
	h.open++
	return &observed{h}
}

func (h *relocker) Settle(_ int, keys [][]byte, change func(c *commands.Ctx)) error {
	c := h.r.Ctx
	var set persistence.Shards
	for _, key := range keys {
		set.Add(h.r.Store.Hash(key))
	}
	c.Tx.Lock(&set, c.Now)
	defer c.Tx.Unlock()
	change(&c)
	c.Tx.Commit()
	return nil
}

type observed struct{ h *relocker }

func (o *observed) Changed() bool {
	if o.h.changes == 0 {
		return false
	}
	o.h.changes--
	return true
}

func (o *observed) End() { o.h.open-- }

// A call whose keys change while it works starts anew, and keeps the locks in the end.
func TestAJobStartsAnewWhenItsKeysChange(t *testing.T) {
	bug := errors.New("no")
	for _, tt := range []struct {
		name                 string
		bytes, changes       int
		begin, work, end     error
		begins, works, ended int
	}{
		{name: "small", bytes: 0, begins: 1, works: 1, ended: 1},
		{name: "large", bytes: 1, begins: 1, works: 1, ended: 1},
		{name: "one change", bytes: 1, changes: 1, begins: 2, works: 2, ended: 1},
		{name: "two changes", bytes: 1, changes: 2, begins: 3, works: 3, ended: 1},
		{name: "changes all the time", bytes: 1, changes: 99, begins: 4, works: 4, ended: 1},
		{name: "fails at work", bytes: 1, changes: 1, work: bug, begins: 1, works: 1},
		{name: "fails at the end", bytes: 1, end: bug, begins: 1, works: 1, ended: 1},
	} {
		begins, works, ended := 0, 0, 0
		begin := func(*commands.Ctx) (*commands.Job, error) {
			begins++
			return &commands.Job{Bytes: tt.bytes, Keys: [][]byte{[]byte("k")},
				Work: func() error { works++; return tt.work },
				End:  func(c *commands.Ctx) error { ended++; c.Reply.Int(int64(works)); return tt.end }}, nil
		}
		r := commandtest.New(t, commands.Group{Name: "test", Commands: []commands.Command{{Name: "WORK", Arity: 2, Flags: commands.Write,
			Keys: []commands.KeySpec{commands.Key(1, commands.RW|commands.Update)}, Syntax: "key", Since: "1.0.0", Cost: "O(1)", Summary: "Works.",
			Run: func(c *commands.Ctx) error { return c.Apart(begin) }}}})
		h := &relocker{Host: r.Ctx.Host, r: r, changes: tt.changes}
		r.Ctx.Host = h
		reply := r.Call("WORK", "k")
		var err error
		if w := r.Ctx.Parked(); w != nil {
			var write func(*commands.Reply)
			if write, err = w.Work(context.Background()); write != nil && err == nil {
				to := commands.NewReply(nil, 2)
				write(&to)
				reply = string(to.Encoded())
			}
		} else if tt.bytes > 0 {
			t.Errorf("%s: the call was made with its keys locked", tt.name)
		}
		if begins != tt.begins || works != tt.works || ended != tt.ended {
			t.Errorf("%s: begun %d times, worked %d, ended %d; want %d, %d, %d", tt.name, begins, works, ended, tt.begins, tt.works, tt.ended)
		}
		if fails := tt.work != nil || tt.end != nil; fails != errors.Is(err, bug) {
			t.Errorf("%s: got the error %v", tt.name, err)
		} else if !fails && reply != ":"+string(rune('0'+tt.works))+"\r\n" {
			t.Errorf("%s: got %q", tt.name, reply)
		}
		if h.open != 0 {
			t.Errorf("%s: %d observations are left", tt.name, h.open)
		}
	}
}
