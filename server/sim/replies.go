package sim

import (
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/redcon"
)

// dial connects a client.
func (s *simulation) dial() *client {
	s.ids++
	nc, err := s.life.srv.Dial()
	if err != nil {
		s.violate("Dial: %v", err)
	}
	return newClient(s.ids, nc)
}

// forget gives up the calls of a client that has no connection any more.
func (s *simulation) forget(c *client) {
	for _, k := range c.due {
		k.outcome, k.ended = lost, s.event
	}
	c.due = nil
	s.model.leave(c)
}

// harvest reads the replies that have come and compares them with the model's.
func (s *simulation) harvest() {
	s.saved()
	for i, c := range s.clients {
		for len(c.due) > 0 && c.take(c.due[0]) {
			s.returned(c.due[0])
			c.due = c.due[1:]
		}
		if n := c.unread(); n > 0 && len(c.due) == 0 && !c.stalled {
			s.violate("client %d got %d bytes that it did not ask for", c.id, n)
		}
		if c.gone() && s.life.open {
			s.note("client %d was dropped", c.id)
			if !s.troubled {
				s.violate("client %d was dropped though the disk is well", c.id)
			}
			s.forget(c)
			s.clients[i] = s.dial()
		}
	}
}

// returned checks a reply, and notes what it has shown.
func (s *simulation) returned(k *call) {
	s.note("call %d: %s", k.number, short(k.got))
	if k.ended = s.event; k.outcome == refused {
		return
	}
	k.outcome = returned
	switch {
	case !k.known:
		s.violate("%v: got %s, want nothing yet", k, short(k.got))
	case k.got != k.want:
		s.violate("%v: got %s, want %s", k, cut(k.got, 400), cut(k.want, 400))
	case k.always:
		s.model.promise(k.tells)
	}
	s.model.told = max(s.model.told, k.tells)
}

// ask makes calls that no model judges, and steps of the committer if their
// replies wait for the disk.
func (s *simulation) ask(commands ...[]string) []redcon.RESP {
	var b strings.Builder
	for _, args := range commands {
		encode(&b, args)
	}
	if _, err := s.admin.nc.Write([]byte(b.String())); err != nil {
		return nil
	}
	for range 6 {
		s.settle()
		if replies := s.admin.replies(len(commands)); replies != nil {
			return replies
		}
		s.life.task("commit").step(true, 0)
	}
	s.settle()
	return nil
}

// read is everything that the server holds.
func (s *simulation) read() (*state, bool) {
	found := newState()
	for db := range databases {
		replies := s.ask([]string{"SELECT", strconv.Itoa(db)}, []string{"KEYS", "*"})
		if replies == nil {
			return nil, false
		}
		keys := words(replies[1])
		slices.Sort(keys)
		var calls [][]string
		for _, key := range keys {
			calls = append(calls, []string{"PEXPIRETIME", key}, whole(key))
		}
		if len(calls) == 0 {
			continue
		}
		if replies = s.ask(calls...); replies == nil {
			return nil, false
		}
		for i, key := range keys {
			v := &value{expire: max(0, replies[2*i].Int())}
			switch reply := replies[2*i+1]; key[0] {
			case 'q', 'p':
				v.list = words(reply)
			case 'a', 'b':
				v.hash = map[string]string{}
				for m := range slices.Chunk(words(reply), 2) {
					v.hash[m[0]] = strings.TrimPrefix(m[1], "-1") // which is for never
				}
			case 'x':
				v = streamFound(reply)
				v.expire = max(0, replies[2*i].Int())
			case 'y':
				expire := v.expire
				v = namedFound(reply)
				v.expire = expire
			case 'c', 'm', 'k', 'd':
				v.hash = sketchFound(key, words(reply))
			case 'j':
				v.list = members(string(reply.Data))
			case 'h', 'z':
				v.hash = map[string]string{}
				for f := range slices.Chunk(words(reply), 2) {
					v.hash[f[0]] = f[1]
				}
			default:
				v.text = string(reply.Data)
			}
			found.dbs[db][key] = v
		}
	}
	return found, true
}

// whole is the command that reads a value.
func whole(key string) []string {
	switch key[0] {
	case 'q', 'p':
		return []string{"LRANGE", key, "0", "-1"}
	case 'h':
		return []string{"HGETALL", key}
	case 'j':
		return []string{"JSON.GET", key}
	case 'a', 'b':
		return []string{"EVAL", timedMembers, "1", key}
	case 'z':
		return []string{"ZRANGE", key, "0", "-1", "WITHSCORES"}
	case 'c', 'm', 'k', 'd':
		return wholeSketch(key)
	case 'x', 'y':
		return []string{"XINFO", "STREAM", key, "FULL", "COUNT", "0"}
	}
	return []string{"GET", key}
}

// entryText is an entry of a stream, of one field: ID and value.
func entryText(e redcon.RESP) string {
	var parts []string
	e.ForEach(func(p redcon.RESP) bool {
		if p.Type == redcon.Array {
			parts = append(parts, words(p)[1])
		} else {
			parts = append(parts, string(p.Data))
		}
		return true
	})
	return strings.Join(parts, " ")
}

func words(r redcon.RESP) (out []string) {
	r.ForEach(func(e redcon.RESP) bool {
		out = append(out, string(e.Data))
		return true
	})
	return out
}

// inspect compares everything that the server holds with the model.
func (s *simulation) inspect() {
	if s.troubled {
		return
	}
	s.life.disk.releaseSyncs()
	found, ok := s.read()
	if s.life.disk.crashed() != nil {
		s.crash()
		return
	}
	want := s.model.last().at(s.model.now)
	switch {
	case !ok:
		s.violate("the server does not tell what it holds")
	case !found.equal(want):
		s.violate("what the server holds is wrong: %s", found.difference(want))
	}
	s.note("looked at everything")
	s.after()
}

// finish heals the disk and waits for all replies, then stops and starts again:
// nothing may be missing.
func (s *simulation) finish() {
	s.life.disk.crashBefore(0, "", powerFailure)
	s.heal()
	for range 2 * soundSteps {
		s.background("commit", true)
	}
	for _, c := range s.clients {
		for _, k := range c.due {
			if k.known && !c.stalled {
				s.violate("%v has no reply", k)
			}
		}
	}
	s.inspect()
	if s.report.Violation == "" {
		s.restart()
	}
	if s.report.Violation == "" {
		s.abandon()
		s.restore()
	}
}
