package keys

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures"
	"github.com/vigildb/vigil/structures/rdb"
)

// MIGRATE works in three steps, so that no other client waits for the network. While its
// keys are locked their values are copied. A worker sends them, without locks. Then the
// keys that have arrived are locked again and removed, unless they have changed
// meanwhile: a value is never lost, and in the worst case it is on both servers.

const (
	// maxMigrated is what the values of a call may take together, in bytes. One value may
	// take more.
	maxMigrated = 128 << 20
	// migrateTimeout is used in place of one that is not positive, in ms; maxMigrateTimeout
	// in place of a longer one.
	migrateTimeout, maxMigrateTimeout = 1000, 10 * 60 * 1000
)

// Peer is another server, and as whom to log in there.
type Peer struct {
	Host, Port     string
	User, Password string
	Login          bool // AUTH is sent; with User only if that is not empty
}

// Remote is what MIGRATE asks of the server.
type Remote interface {
	// Exchange sends requests to a peer and returns their n replies, each OK or an error.
	// Within timeout something has to be sent or to arrive. With an error, a WireError,
	// it returns the replies that came before.
	Exchange(ctx context.Context, to Peer, request []byte, n int, timeout time.Duration) (lines []string, err error)
	// Settle locks keys of a database and runs change as a call of its own, which
	// is as durable as appendfsync demands when Settle returns.
	Settle(db int, keys [][]byte, change func(c *commands.Ctx)) error
}

func migrateRows() []commands.Command {
	access := commands.RW | commands.Access | commands.Delete
	return []commands.Command{
		{Name: "MIGRATE", Arity: -6, Tips: "nondeterministic_output",
			Flags: commands.Write | commands.Dangerous | commands.MovableKeys | commands.NoMulti | commands.NoScript,
			Keys: []commands.KeySpec{{Flags: access, Begin: 3, Step: 1, Find: migratedKey},
				{Flags: access | commands.Incomplete, Begin: -2, Keyword: "KEYS", Last: -1, Step: 1, Find: migratedKeys}},
			Syntax: "host port <key | \"\"> destination-db timeout [COPY] [REPLACE] [AUTH password | AUTH2 username password] [KEYS key [key ...]]",
			Since:  "2.6.0", Cost: "O(n) for n bytes, without blocking other commands while they are sent",
			Summary: "Moves keys to another server.", Secrets: migrateSecrets, Run: migrate},
	}
}

// migration is a call of MIGRATE.
type migration struct {
	peer          Peer
	db, toDB      int
	timeout       time.Duration
	copy, replace bool

	now  int64  // of the copies
	head []byte // what is said before keys
	sent []sentKey
}

// sentKey is a key as it was when its value was copied.
type sentKey struct {
	key      []byte
	sum      [sha256.Size]byte // of the payload
	expireAt int64
	valkey   []byte // payload for a Valkey, which refuses the other one; nil: there is none
}

// optionArgs are the options of MIGRATE before KEYS, and the number of their arguments.
var optionArgs = map[string]int{"COPY": 0, "REPLACE": 0, "AUTH": 1, "AUTH2": 2}

// walkOptions calls visit for each option, with the index of its first argument, and
// returns the index of the word KEYS, or 0.
func walkOptions(argv [][]byte, visit func(option string, args int)) int {
	for i := 6; i < len(argv); i++ {
		if commands.EqualFold(argv[i], "KEYS") {
			return i
		}
		for option, n := range optionArgs {
			if commands.EqualFold(argv[i], option) {
				visit(option, i+1)
				i += n
				break
			}
		}
	}
	return 0
}

// migratedKey is the key of a call without KEYS.
func migratedKey(argv [][]byte) []int {
	if at := walkOptions(argv, func(string, int) {}); len(argv) < 6 || at > 0 {
		return nil
	}
	return []int{3}
}

// migratedKeys are the keys after KEYS. With another key before, the call is an error.
func migratedKeys(argv [][]byte) []int {
	if len(argv) < 6 || len(argv[3]) > 0 {
		return nil
	}
	at := walkOptions(argv, func(string, int) {})
	if at == 0 {
		return nil
	}
	var keys []int
	for i := at + 1; i < len(argv); i++ {
		keys = append(keys, i)
	}
	return keys
}

// migrateSecrets are the names and passwords.
func migrateSecrets(argv [][]byte) []int {
	var secret []int
	walkOptions(argv, func(option string, args int) {
		for i := range optionArgs[option] {
			if args+i < len(argv) {
				secret = append(secret, args+i)
			}
		}
	})
	return secret
}

func migrate(c *commands.Ctx) error {
	m, keys, err := readMigration(c)
	if err != nil {
		return err
	}
	request, err := m.copyKeys(c, keys)
	if err != nil {
		return err
	}
	if len(m.sent) == 0 {
		c.Reply.Status("NOKEY")
		return nil
	}
	if err := c.MayCompute(len(request)); err != nil {
		return err
	}
	remote := c.Host.(Remote)
	return c.Compute(func(ctx context.Context) (func(*commands.Reply), error) {
		if err := m.run(ctx, remote, request); err != nil {
			return nil, err
		}
		return (*commands.Reply).OK, nil
	})
}

// readMigration reads the arguments, in Redis's order of checks.
func readMigration(c *commands.Ctx) (m *migration, keys [][]byte, err error) {
	a := &c.Args
	m = &migration{db: c.Client.DB()}
	m.peer.Host, m.peer.Port = a.String(), a.String()
	key := a.Key()
	db, timeout := a.Bytes(), a.Bytes()
	keys = [][]byte{key}
	for a.More() {
		switch {
		case a.Is("COPY"):
			m.copy = true
		case a.Is("REPLACE"):
			m.replace = true
		case a.Left() >= 2 && a.Is("AUTH"):
			m.peer.Login, m.peer.Password = true, a.String()
		case a.Left() >= 3 && a.Is("AUTH2"):
			m.peer.Login, m.peer.User, m.peer.Password = true, a.String(), a.String()
		case a.Is("KEYS"):
			if len(key) > 0 {
				return nil, nil, errMigrateKeys
			}
			keys = a.Rest()
		default:
			a.Syntax()
		}
	}
	if err := a.Done(); err != nil {
		return nil, nil, err
	}
	ms, ok := commands.ParseInt(timeout)
	to, okDB := commands.ParseInt(db)
	if !ok || !okDB {
		return nil, nil, commands.ErrNotInteger
	}
	if ms <= 0 {
		ms = migrateTimeout
	}
	m.toDB, m.timeout = int(to), time.Duration(min(ms, maxMigrateTimeout))*time.Millisecond
	return m, keys, nil
}

// copyKeys makes the requests of the keys that exist, and of what goes before them.
func (m *migration) copyKeys(c *commands.Ctx, keys [][]byte) (request []byte, err error) {
	switch {
	case m.peer.User != "":
		m.head = appendCall(nil, "AUTH", m.peer.User, m.peer.Password)
	case m.peer.Login:
		m.head = appendCall(nil, "AUTH", m.peer.Password)
	}
	m.head = appendCall(m.head, "SELECT", strconv.Itoa(m.toDB))
	m.now, request = c.Now, slices.Clone(m.head)
	held := 0
	for _, key := range keys {
		s, payload, ok, err := look(c, key)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if c.Tx.Kind(key) == structures.KindHash {
			if v, err := c.Tx.Value(key); err == nil {
				s.valkey, _ = rdb.AppendValkey(nil, v)
			}
		}
		if held += len(s.valkey); len(m.sent) > 0 && len(request)+held+len(payload) > maxMigrated {
			return nil, errMigrateSize
		}
		request = m.restore(request, &s, payload)
		m.sent = append(m.sent, s)
	}
	return request, nil
}

// restore appends the call that makes a key at the peer.
func (m *migration) restore(request []byte, s *sentKey, payload []byte) []byte {
	ttl := int64(0)
	if s.expireAt > 0 {
		ttl = max(1, s.expireAt-m.now)
	}
	call := []string{"RESTORE", string(s.key), strconv.FormatInt(ttl, 10), string(payload), "REPLACE"}
	if !m.replace {
		call = call[:4]
	}
	return appendCall(request, call...)
}

// appendCall appends a call as clients send it.
func appendCall(dst []byte, words ...string) []byte {
	dst = append(strconv.AppendInt(append(dst, '*'), int64(len(words)), 10), "\r\n"...)
	for _, w := range words {
		dst = append(strconv.AppendInt(append(dst, '$'), int64(len(w)), 10), "\r\n"...)
		dst = append(append(dst, w...), "\r\n"...)
	}
	return dst
}

// look returns the value of a key and how it is recognised later. ok: the key exists.
func look(c *commands.Ctx, key []byte) (s sentKey, payload []byte, ok bool, err error) {
	payload, ok, err = dumpPayload(c, key, lookKind(c, key))
	if !ok || err != nil {
		return s, nil, false, err
	}
	at, _ := c.Tx.ExpireAt(key)
	return sentKey{key: []byte(string(key)), sum: sha256.Sum256(payload), expireAt: at}, payload, true, nil
}

// refusedForm is what a peer replies to a payload of a version that it does not read.
const refusedForm = "-ERR DUMP payload version or checksum are wrong"

// send sends requests for keys, and returns those that have arrived, those whose form was refused and that have another, and the
// first other error of the peer.
func (m *migration) send(ctx context.Context, remote Remote, request []byte, keys []sentKey) (arrived, again []sentKey, refused string, err error) {
	before := 1
	if m.peer.Login {
		before = 2
	}
	lines, err := remote.Exchange(ctx, m.peer, request, before+len(keys), m.timeout)
	for i, line := range lines {
		switch {
		case i >= before && strings.HasPrefix(line, refusedForm) && keys[i-before].valkey != nil:
			again = append(again, keys[i-before])
		case strings.HasPrefix(line, "-"):
			if refused == "" {
				refused = line[1:]
			}
		case i >= before && !refusedBefore(lines[:before]):
			arrived = append(arrived, keys[i-before])
		}
	}
	return arrived, again, refused, err
}

// run sends the values, and removes the keys whose arrival the peer has confirmed, even if
// the client has left or others of them have failed. Hashes whose form a peer refuses are sent once more, as Valkey has them.
func (m *migration) run(ctx context.Context, remote Remote, request []byte) error {
	arrived, again, refused, err := m.send(ctx, remote, request, m.sent)
	if len(again) > 0 && err == nil {
		request = slices.Clone(m.head)
		for i := range again {
			request = m.restore(request, &again[i], again[i].valkey)
			again[i].valkey = nil
		}
		more, _, bad, failed := m.send(ctx, remote, request, again)
		arrived, refused, err = append(arrived, more...), cmp.Or(refused, bad), failed
	}
	kept := 0
	if !m.copy && len(arrived) > 0 {
		var settled error
		if kept, settled = removeUnchanged(remote, m.db, arrived); settled != nil {
			return settled
		}
	}
	switch {
	case refused != "":
		return commands.Errorf("ERR Target instance replied with error: %s", refused)
	case err != nil:
		return err
	case kept > 0:
		return errMigrateChanged
	}
	return nil
}

// refusedBefore reports whether AUTH or SELECT failed: then keys may have arrived in
// another place than they were sent to.
func refusedBefore(lines []string) bool {
	for _, line := range lines {
		if strings.HasPrefix(line, "-") {
			return true
		}
	}
	return false
}

// removeUnchanged removes keys that are as they were when they were sent, and returns
// the number of others.
func removeUnchanged(remote Remote, db int, sent []sentKey) (kept int, err error) {
	keys := make([][]byte, len(sent))
	for i, s := range sent {
		keys[i] = s.key
	}
	var failed []error
	settled := remote.Settle(db, keys, func(c *commands.Ctx) {
		for _, s := range sent {
			now, _, ok, err := look(c, s.key)
			switch {
			case err != nil:
				failed = append(failed, err)
			case ok && (now.sum != s.sum || now.expireAt != s.expireAt):
				kept++
			case ok:
				c.Tx.Delete(s.key)
				c.Notify(commands.EventGeneric, "del", s.key)
			}
		}
	})
	return kept, errors.Join(append(failed, settled)...)
}
