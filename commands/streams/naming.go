package streams

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/structures/stream"
)

// A producer that names its entries can send one again when it got no reply: XADD IDMP adds
// it once. The pair of a producer and a name is remembered by the stream.

func namingRows() []commands.Command {
	return []commands.Command{
		{Name: "XCFGSET", Arity: -2, Flags: commands.Write | commands.Fast,
			Keys:   []commands.KeySpec{commands.Key(1, commands.RW|commands.Update)},
			Syntax: "key [IDMP-DURATION duration] [IDMP-MAXSIZE maxsize]",
			Types:  commands.Types{"duration": commands.ArgInteger, "maxsize": commands.ArgInteger}, Since: "8.6.0",
			Cost:    "O(1), and O(n) for n names that are forgotten as a number changes",
			Summary: "Sets how long a stream remembers the names that producers give to entries, and how many of them.", Run: xcfgset},
	}
}

// naming is IDMP or IDMPAUTO.
type naming struct {
	pid, iid []byte
	auto     bool // the name is a digest of the fields and values
}

func (n *naming) given() bool { return n.pid != nil }

// option reads the option, if it is next, and reports whether it is.
func (n *naming) option(a *commands.Args) bool {
	auto := a.Left() >= 2 && a.Is("IDMPAUTO")
	if !auto && (a.Left() < 3 || !a.Is("IDMP")) {
		return false
	}
	twice, option := n.given(), "IDMP"
	if n.auto, n.pid = auto, a.Bytes(); auto {
		option = "IDMPAUTO"
	} else {
		n.iid = a.Bytes()
	}
	switch {
	case twice:
		a.Fail(errNameTwice)
	case len(n.pid) == 0:
		a.Fail(errNoProducer(option))
	case !auto && len(n.iid) == 0:
		a.Fail(errNoName)
	}
	return true
}

// settle makes the name of an entry that has none: 128 bits of a digest of its fields and values. It
// does not depend on their order, which is another one each time in clients that keep them in a map.
func (n *naming) settle(pairs [][]byte) {
	if !n.auto {
		return
	}
	digests := make([][sha256.Size]byte, 0, len(pairs)/2)
	for pair := range slices.Chunk(pairs, 2) {
		field := binary.AppendUvarint(nil, uint64(len(pair[0])))
		digests = append(digests, sha256.Sum256(slices.Concat(field, pair[0], pair[1])))
	}
	slices.SortFunc(digests, func(a, b [sha256.Size]byte) int { return bytes.Compare(a[:], b[:]) })
	all := sha256.New()
	for _, d := range digests {
		all.Write(d[:])
	}
	n.iid = all.Sum(nil)[:16]
}

// known replies with the ID of the entry that has the name, if the stream remembers one.
func (n *naming) known(c *commands.Ctx, s *stream.Stream) bool {
	id, ok := s.Named(n.pid, n.iid, c.Now)
	if ok {
		s.Again()
		replyID(&c.Reply, id)
	}
	return ok
}

func xcfgset(c *commands.Ctx) error {
	a := &c.Args
	key := a.Key()
	var seconds, most int64
	for a.More() {
		switch {
		case a.Left() >= 2 && a.Is("IDMP-DURATION"):
			seconds = readWithin(a, stream.MaxWindowSeconds, errDuration)
		case a.Left() >= 2 && a.Is("IDMP-MAXSIZE"):
			most = readWithin(a, stream.MaxWindowNames, errMaxSize)
		default:
			a.Syntax()
		}
	}
	if a.Err() == nil && seconds == 0 && most == 0 {
		a.Fail(errNothingSet)
	}
	if err := a.Done(); err != nil {
		return err
	}
	s, ch, ok, err := edit(c, key)
	switch {
	case err != nil:
		return err
	case !ok:
		return commands.ErrNoKey
	}
	w := s.Window()
	if seconds > 0 {
		w.Seconds = seconds
	}
	if most > 0 {
		w.Most = int(most)
	}
	if err := c.Tx.Require(persistence.LevelTimed); err != nil {
		return err
	}
	if err := s.SetWindow(ch, w); err != nil {
		return err
	}
	c.Reply.OK()
	return nil
}

// readWithin reads a number from 1 to most; another number is outside.
func readWithin(a *commands.Args, most int64, outside error) int64 {
	n := a.Int()
	if a.Err() == nil && (n < 1 || n > most) {
		a.Fail(outside)
	}
	return n
}
