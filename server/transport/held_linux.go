package transport

import (
	"time"

	"github.com/vigildb/vigil/structures"
)

// Held replies. A client that waits for a reply is woken by the write that brings
// it, and with one write at the end of each turn such wakes are a tenth of what a
// loop does: the client has read the reply and sleeps again before the next one
// comes. So short replies are held until the loop has no other turn to give, or for
// holdTime, and are then written one after the other. The first write wakes the
// client; the others mostly find it awake.
//
// The replies of a turn lie in the buffer of the owner that runs it. They become
// the loop's when the turn ends in time. If the loop has got another owner
// meanwhile, the goroutine of the turn writes them itself, and the new owner begins
// by writing those of the earlier turns. A client has the replies of one turn held
// at most.

const (
	// holdRoom is the room for held replies of a loop, in bytes. A turn begins
	// with half of it at least.
	holdRoom = 32 << 10
	// holdTime is how long replies are held at most, but for the turn that is
	// running when it is over.
	holdTime = 500 * time.Microsecond
)

// heldReplies are the replies of a client's last turn.
type heldReplies struct {
	c *loopConn
	b []byte // of the buffer of the owner that ran the turn
}

// holds makes o hold the replies of a turn that begins.
func (o *loopOwner) holds(c *loopConn) {
	if c.tls == nil {
		c.holder, c.heldFrom = o, len(o.replies)
	}
}

// hold takes a reply, if it is short and may be held. Nothing is unsent then: the
// session is not run before the client has read, and what the socket does not take
// of this turn comes after sendOwn.
func (c *loopConn) hold(b []byte) bool {
	o := c.holder
	if o == nil || len(o.replies)+len(b) > cap(o.replies) {
		return false
	}
	o.replies = append(o.replies, b...)
	return true
}

// sendOwn sends what the turn of c has put into its owner's buffer. The rest of
// the turn's replies is not held.
func (c *loopConn) sendOwn() error {
	o := c.holder
	if o == nil {
		return nil
	}
	b := o.replies[c.heldFrom:]
	o.replies, c.holder = o.replies[:c.heldFrom], nil
	return c.sendCopy(b)
}

// keepHeld holds the replies of c's turn, which has ended while o owns the loop,
// until others have had theirs.
func (o *loopOwner) keepHeld(c *loopConn) {
	if c.holder == nil {
		return
	}
	c.holder = nil
	b := o.replies[c.heldFrom:]
	if len(b) == 0 {
		return
	}
	now := sinceEpoch()
	if len(o.held) == 0 {
		o.heldSince = now
	}
	c.held = true
	o.held = append(o.held, heldReplies{c, b})
	if len(o.replies) > cap(o.replies)/2 || now-o.heldSince > holdTime {
		o.sendHeld()
	}
}

// sendHeld sends the replies that are held.
func (o *loopOwner) sendHeld() {
	for i, h := range o.held {
		o.held[i] = heldReplies{}
		if !h.c.held {
			continue // it has ended
		}
		h.c.held = false
		if h.c.sendCopy(h.b) != nil || h.c.outputFull() && h.c.s.Sent() != nil {
			h.c.HangUp() // which ends it in a turn of its own
		}
	}
	o.held = o.held[:0]
	o.replies = o.replies[:0]
}

// sendCopy sends b, which stays the caller's: of what the socket does not take, the
// only unsent reply then, a copy is kept.
func (c *loopConn) sendCopy(b []byte) error {
	if len(b) == 0 {
		return nil
	}
	kept, err := c.write(b)
	if kept {
		c.unsent[0], c.firstSent = structures.Clone(c.unsent[0]), 0
	}
	return err
}
