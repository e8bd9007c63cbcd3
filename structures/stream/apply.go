package stream

import (
	"fmt"
	"math"

	"github.com/vigildb/vigil/structures"
)

// Operations in the journal. These numbers are on disk and never change. An ID is
// two arguments; times are unix milliseconds; a number of entries read is -1 if it
// is not known.
const (
	opAdd            = 16 // ID, field, value, ...: in the last page
	opAddPage        = 17 // ID, field, value, ...: in a page of its own
	opDelete         = 18 // ID ...
	opTrim           = 19 // first ID kept; nothing: no entry is kept
	opSetID          = 20 // last ID, entries ever, greatest deleted ID
	opGroupCreate    = 21 // group, last ID, entries read
	opGroupSetID     = 22 // group, last ID, entries read
	opGroupDestroy   = 23 // group
	opConsumerCreate = 24 // group, consumer, time
	opConsumerDelete = 25 // group, consumer
	opDeliver        = 26 // group, consumer, time, number of entries
	opDeliverNoAck   = 27 // group, consumer, time, number of entries
	opRedeliver      = 28 // group, consumer, time, ID before the first, last ID
	opAck            = 29 // group, ID ...
	opClaim          = 30 // group, consumer, time, for each entry: ID, time, deliveries
	opWindow         = 31 // seconds, names of a producer
	opName           = 32 // producer, name, ID, time
	opRelease        = 33 // group, for each entry: ID, its place in the queue, deliveries
)

func recordID(ch *structures.Change, id ID) {
	ch.Uint(id.Ms)
	ch.Uint(id.Seq)
}

func readID(a *structures.Args) ID { return ID{a.Uint(), a.Uint()} }

// readIDs reads the IDs that are left.
func readIDs(a *structures.Args) (ids []ID, err error) {
	if a.Left()%2 != 0 {
		return nil, misfit("IDs of %d numbers", a.Left())
	}
	for range a.Left() / 2 { // Left stays as it is behind an error
		ids = append(ids, readID(a))
	}
	return ids, a.Done()
}

func misfit(what string, args ...any) error {
	return fmt.Errorf("%s: %w", fmt.Sprintf(what, args...), structures.ErrCorrupt)
}

// Apply replays an operation. One that does not fit the stream, such as an entry
// that is not behind the last one, gives ErrCorrupt and changes nothing; removals of
// what is not there do nothing.
func (s *Stream) Apply(op byte, args *structures.Args) error {
	switch op {
	case opAdd, opAddPage:
		return s.applyAdd(op == opAddPage, args)
	case opDelete:
		ids, err := readIDs(args)
		if err == nil {
			s.Delete(nil, ids)
		}
		return err
	case opTrim:
		all := args.Left() == 0
		var kept ID
		if !all {
			kept = readID(args)
		}
		if err := args.Done(); err != nil {
			return err
		}
		if s.pinCut(kept, all) {
			s.trim(kept, all)
		}
		return nil
	case opSetID:
		last, added, deleted := readID(args), args.Uint(), readID(args)
		if err := args.Done(); err != nil {
			return err
		}
		if n := len(s.pages); n > 0 && last.Less(s.pages[n-1].last) {
			return misfit("last ID %v before %v", last, s.pages[n-1].last)
		}
		s.SetID(nil, last, added, deleted)
		return nil
	case opWindow, opName:
		return s.applyName(op, args)
	}
	return s.applyGroup(op, args)
}

func (s *Stream) applyAdd(open bool, args *structures.Args) error {
	id := readID(args)
	pairs := make([][]byte, 0, min(args.Left(), 1024))
	for range args.Left() {
		pairs = append(pairs, args.Bytes())
	}
	if err := args.Done(); err != nil {
		return err
	}
	if len(pairs)%2 != 0 || !s.last.Less(id) {
		return misfit("entry %v of %d strings behind %v", id, len(pairs), s.last)
	}
	n := len(s.pages)
	s.add(id, pairs, open || n == 0 || !fits(s.pages[n-1].last, id))
	return nil
}

// applyGroup replays the operations on groups.
func (s *Stream) applyGroup(op byte, args *structures.Args) error {
	if op < opGroupCreate || op > opRelease {
		return fmt.Errorf("stream operation %d: %w", op, structures.ErrUnknownChange)
	}
	name := args.Bytes()
	g := s.groups[string(name)]
	switch {
	case op == opGroupCreate:
		last, read := readID(args), args.Int()
		if err := args.Done(); err != nil {
			return err
		}
		if read < Unknown || s.CreateGroup(nil, name, last, read) == nil {
			return misfit("new group %q that has read %d", name, read)
		}
		return nil
	case g == nil:
		if err := args.Done(); op == opGroupDestroy {
			return err
		}
		return misfit("operation %d on group %q, which is missing", op, name)
	case op == opGroupDestroy:
		err := args.Done()
		if err == nil {
			s.DestroyGroup(nil, name)
		}
		return err
	case op == opGroupSetID:
		last, read := readID(args), args.Int()
		if err := args.Done(); err != nil {
			return err
		}
		if read < Unknown {
			return misfit("group that has read %d", read)
		}
		g.SetID(nil, last, read)
		return nil
	case op == opAck:
		ids, err := readIDs(args)
		if err == nil {
			g.Ack(nil, ids)
		}
		return err
	case op == opRelease:
		return g.applyRelease(args)
	}
	return g.applyConsumer(op, args)
}

// applyConsumer replays the operations on consumers.
func (g *Group) applyConsumer(op byte, args *structures.Args) error {
	name := args.Bytes()
	c := g.consumers[string(name)]
	switch {
	case op == opConsumerDelete:
		err := args.Done()
		if err == nil {
			g.DeleteConsumer(nil, name)
		}
		return err
	case op == opConsumerCreate:
		now := args.Int()
		if err := args.Done(); err != nil {
			return err
		}
		if g.CreateConsumer(nil, name, now) == nil {
			return misfit("consumer %q made twice", name)
		}
		return nil
	case c == nil:
		return misfit("operation %d on consumer %q, which is missing", op, name)
	}
	now := args.Int()
	switch op {
	case opDeliver, opDeliverNoAck:
		n := args.Uint()
		if err := args.Done(); err != nil {
			return err
		}
		g.Deliver(nil, c, int(min(n, uint64(g.s.len))), now, op == opDeliverNoAck, nil)
	case opRedeliver:
		after, last := readID(args), readID(args)
		if err := args.Done(); err != nil {
			return err
		}
		g.redeliver(c, after, last, now)
	case opClaim:
		return g.applyClaim(c, now, args)
	}
	return nil
}

// redeliver replays Redeliver.
func (g *Group) redeliver(c *Consumer, after, last ID, now int64) {
	from, ok := after.Next()
	if !ok {
		return
	}
	if !g.pinPending(c, from, last, math.MaxInt) {
		return
	}
	g.eachOf(c, from, last, func(p *pendingPage, r *record) bool {
		if g.s.Has(r.id) {
			g.deliverAgain(p, r, now)
		}
		return true
	})
}

func (g *Group) applyClaim(c *Consumer, now int64, args *structures.Args) error {
	if args.Left()%4 != 0 {
		return misfit("claim of %d numbers", args.Left())
	}
	var entries []Pending
	for range args.Left() / 4 {
		entries = append(entries, Pending{ID: readID(args), Time: args.Int(), Deliveries: args.Int()})
	}
	if err := args.Done(); err != nil {
		return err
	}
	g.Claim(nil, c, now, entries)
	return nil
}
