package clusters

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/redcon"
)

// connection is one of a client with a server.
type connection struct {
	nc  net.Conn
	buf []byte // received and not read yet
}

// call makes a call, and waits for the reply, whose text is that of RESP but for strings: those are themselves.
func (k *connection) call(patience time.Duration, words ...string) (string, error) {
	var request []byte
	request = redcon.AppendArray(request, len(words))
	for _, w := range words {
		request = redcon.AppendBulkString(request, w)
	}
	if err := k.nc.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := k.nc.Write(request); err != nil {
		return "", err
	}
	return k.reply()
}

func (k *connection) reply() (string, error) {
	for {
		if size, reply := redcon.ReadNextRESP(k.buf); size > 0 {
			k.buf = k.buf[size:]
			return describe(reply), nil
		}
		more := make([]byte, 16<<10)
		n, err := k.nc.Read(more)
		if err != nil {
			return "", err
		}
		k.buf = append(k.buf, more[:n]...)
	}
}

func describe(r redcon.RESP) string {
	switch r.Type {
	case redcon.Error:
		return "-" + string(r.Data)
	case redcon.Array:
		var all []string
		r.ForEach(func(e redcon.RESP) bool {
			all = append(all, describe(e))
			return true
		})
		return strings.Join(all, ",")
	}
	return string(r.Data)
}

// patience is how long a client waits for a reply.
const patience = 4 * time.Second

// client makes one call after the other, as clients of Redis Cluster do.
type client struct {
	w     *world
	id    int
	rand  *rand.Rand
	conns map[*node]*connection
	where []*node // each tag is, by what it knows
	last  int     // value that it wrote
}

func newClient(w *world, id int) *client {
	return &client{w: w, id: id, rand: rand.New(rand.NewPCG(w.seed, uint64(id))), conns: map[*node]*connection{}, where: make([]*node, len(w.tags))}
}

// route returns the server that is to be asked for a tag.
func (c *client) route(tag int) *node {
	if c.where[tag] == nil {
		c.where[tag] = c.w.nodes[c.rand.IntN(len(c.w.nodes))]
	}
	return c.where[tag]
}

// run makes calls until there have been enough.
func (c *client) run(until time.Duration) {
	for c.w.now() < until {
		c.do(c.w.tag(c.rand), c.input())
		time.Sleep(time.Duration(1+c.rand.IntN(25)) * time.Millisecond)
	}
	c.leave()
}

func (c *client) leave() {
	for n, k := range c.conns {
		k.nc.Close()
		delete(c.conns, n)
	}
}

// input draws a call.
func (c *client) input() input {
	c.last++
	value := fmt.Sprintf("%d.%d", c.id, c.last)
	switch c.rand.IntN(10) {
	case 0:
		return input{kind: set, value: value}
	case 1:
		return input{kind: setAll, value: value}
	case 2, 3:
		return input{kind: appendTo, value: value + ";"}
	case 4:
		return input{kind: del}
	case 5:
		return input{kind: get}
	case 6:
		return input{kind: transaction, value: value + ";"}
	case 7:
		return input{kind: getDocument}
	case 8:
		return input{kind: []kind{setDocument, mergeInto, mergeInto, delMember}[c.rand.IntN(4)], value: value}
	}
	return input{kind: getAll}
}

// words are those of a call.
func (in input) words(tag string) (words []string) {
	a, b, d := "a{"+tag+"}", "b{"+tag+"}", document(tag)
	switch in.kind {
	case set:
		return []string{"SET", a, in.value}
	case setAll:
		words = append(words, "MSET")
		for _, key := range written(tag) {
			words = append(words, key, in.value)
		}
		return words
	case appendTo:
		return []string{"APPEND", a, in.value}
	case del:
		return []string{"DEL", a}
	case get:
		return []string{"GET", a}
	case transaction:
		return []string{"EVAL", "redis.call('APPEND', KEYS[1], ARGV[1]); return redis.call('APPEND', KEYS[2], ARGV[1])", "2", a, b, in.value}
	case getDocument:
		return []string{"JSON.GET", d, "$.set", "$.last"}
	case setDocument: // of more than a page
		return []string{"JSON.SET", d, "$", `{"much":"` + strings.Repeat("x", fillerBytes) + `","list":[1,2,3],"set":"` + in.value + `"}`}
	case mergeInto:
		return []string{"JSON.MERGE", d, "$", `{"last":"` + in.value + `"}`}
	case delMember:
		return []string{"JSON.DEL", d, "$.last"}
	}
	return append([]string{"MGET"}, written(tag)...)
}

// told is what the reply to a call says of the keys of a tag: the many are one value, or something is wrong.
func (in input) told(reply string) string {
	if in.kind != getAll {
		return reply
	}
	values := strings.Split(reply, ",")
	if many := slices.Compact(values[2:]); len(many) > 1 {
		return fmt.Sprintf("%s and %q, which were written together", values[:2], many)
	}
	return strings.Join(values[:3], ",")
}

var errRefused = errors.New("refused: it has not happened")

// do makes a call of a tag at whatever server has it, and notes what comes of it. One that is refused is made again.
func (c *client) do(tag int, in input) bool {
	for range 40 {
		n := c.route(tag)
		o := c.w.history.begin(c.id, tag, in)
		reply, err := c.ask(n, in.words(c.w.tags[tag])...)
		switch {
		case errors.Is(err, errRefused):
			c.w.history.refuse(o)
			c.follow(tag, reply)
			time.Sleep(time.Duration(5+c.rand.IntN(60)) * time.Millisecond)
			continue
		case err != nil:
			c.where[tag] = nil
			return false
		}
		c.w.history.end(o, in.told(reply))
		return true
	}
	return false
}

// insist makes a call that may be made again at the server that has a tag, and returns the reply, or why there is none.
func (c *client) insist(tag int, words ...string) (reply string, err error) {
	for range 10 {
		if reply, err = c.ask(c.route(tag), words...); err == nil {
			return reply, nil
		}
		c.follow(tag, reply)
		err = fmt.Errorf("%w: %s", err, reply)
	}
	return "", err
}

// follow goes where a server says that a slot is.
func (c *client) follow(tag int, refusal string) {
	if words := strings.Fields(refusal); len(words) == 3 && words[0] == "-MOVED" {
		host, _, _ := net.SplitHostPort(words[2])
		if n := c.w.at(host); n != nil {
			c.where[tag] = n
			return
		}
	}
	c.where[tag] = nil
}

// ask makes a call at a server.
func (c *client) ask(n *node, words ...string) (string, error) {
	k := c.conns[n]
	if k == nil {
		nc := n.dial()
		if nc == nil {
			return "", errRefused
		}
		k = &connection{nc: nc}
		c.conns[n] = k
	}
	reply, err := k.call(patience, words...)
	if err != nil {
		k.nc.Close()
		delete(c.conns, n)
		return "", err
	}
	for _, refusal := range []string{"-MOVED ", "-TRYAGAIN ", "-CLUSTERDOWN ", "-LOADING ", "-READONLY "} {
		if strings.HasPrefix(reply, refusal) {
			return reply, errRefused
		}
	}
	if strings.HasPrefix(reply, "-") {
		c.w.effect("other errors")
		c.w.note("client %d: %v: %s", c.id, words, reply)
		return "", io.ErrUnexpectedEOF // what came of it is unknown
	}
	return reply, nil
}
