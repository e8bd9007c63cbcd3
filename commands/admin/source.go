package admin

import (
	"strings"

	"github.com/vigildb/vigil/commands"
)

// Source is the server as its replicas see it.
type Source interface {
	// ReplicaHello takes what the client says of itself as a replica.
	ReplicaHello(h *ReplicaHello)
	// ReplicaSync makes the client a replica that goes on at an offset of a stream, or gets everything; with old it knows of no
	// offsets. There is no reply.
	ReplicaSync(stream string, offset int64, old bool) error
	// ReplicaAck takes the offset up to which the client has the stream, and that up to which its device has it, 0 if it does not say.
	ReplicaAck(offset, synced int64)
	// Replicas returns the end of the stream and the replicas that are known.
	Replicas() (offset int64, all []Replica)
}

// Replica is a replica as ROLE shows it.
type Replica struct {
	Host   string
	Port   int
	Offset int64
}

// ReplicaHello is one pair of arguments of REPLCONF; one field is set.
type ReplicaHello struct {
	Port    *int
	IP      *string
	Capa    string
	Version *string
	RDBOnly *bool
	Filter  *ReplicaFilter
}

// ReplicaFilter is which part of the data a replica asks for.
type ReplicaFilter int

const (
	ReplicaEverything ReplicaFilter = iota
	ReplicaFunctions
	ReplicaNothing
)

// mostReplicaHost is how long the address may be that a replica says.
const mostReplicaHost = 255

func sourceRows() []commands.Command {
	const flags = commands.Admin | commands.NoScript
	return []commands.Command{
		{Name: "REPLCONF", Arity: -1, Flags: flags | commands.Loading | commands.Stale | commands.AllowBusy,
			Since: "3.0.0", Cost: "O(1)",
			Summary: "Takes what a replica says of itself, and what it has of the stream of commands.", Run: replConf},
		{Name: "SYNC", Arity: 1, Flags: flags | commands.NoAsyncLoading | commands.NoMulti,
			Since: "1.0.0", Cost: "O(1), and O(n) for n keys in the background",
			Summary: "Makes the connection that of a replica, which gets all keys and then the stream of commands.", Run: syncAll},
		{Name: "PSYNC", Arity: -3, Flags: flags | commands.NoAsyncLoading | commands.NoMulti,
			Syntax: "replicationid offset [FAILOVER]", Types: commands.Types{"offset": commands.ArgInteger},
			Since: "2.8.0", Cost: "O(1), and O(n) for n keys in the background",
			Summary: "Makes the connection that of a replica, which goes on in the stream of commands where it was, or gets all keys first.", Run: syncFrom},
	}
}

// replConf takes pairs. Like Redis it does not reply to ACK and GETACK.
func replConf(c *commands.Ctx) error {
	if c.Args.Left()%2 == 1 {
		return commands.ErrSyntax
	}
	for c.Args.More() {
		option := c.Args.Bytes()
		switch {
		case commands.EqualFold(option, "ACK"):
			return replicaAck(c)
		case commands.EqualFold(option, "GETACK"):
			return unanswered(c)
		}
		h, err := readHello(c, option)
		if err != nil {
			return err
		}
		c.Host.(Source).ReplicaHello(&h)
	}
	c.Reply.OK()
	return nil
}

// unanswered leaves the reply out, unless that would leave a gap in that of EXEC.
func unanswered(c *commands.Ctx) error {
	if c.InMulti {
		c.Reply.OK()
	}
	return nil
}

func replicaAck(c *commands.Ctx) error {
	offset, ok := commands.ParseInt(c.Args.Bytes())
	synced := int64(0)
	if c.Args.Left() >= 2 && c.Args.Is("FACK") {
		n, good := commands.ParseInt(c.Args.Bytes())
		synced, ok = n, ok && good
	}
	if ok {
		c.Host.(Source).ReplicaAck(offset, synced)
	}
	return unanswered(c)
}

// readHello reads the value of an option.
func readHello(c *commands.Ctx, option []byte) (h ReplicaHello, err error) {
	switch {
	case commands.EqualFold(option, "LISTENING-PORT"):
		n := int(c.Args.Int())
		h.Port = &n
	case commands.EqualFold(option, "IP-ADDRESS"):
		host := c.Args.String()
		if len(host) > mostReplicaHost {
			return h, errReplicaHost(len(host))
		}
		h.IP = &host
	case commands.EqualFold(option, "CAPA"):
		h.Capa = strings.ToLower(c.Args.String())
	case commands.EqualFold(option, "VERSION"):
		v := c.Args.String()
		h.Version = &v
	case commands.EqualFold(option, "RDB-ONLY"):
		only := c.Args.IntIn(0, 1, errZeroOrOne) == 1
		h.RDBOnly = &only
	case commands.EqualFold(option, "RDB-CHANNEL"): // a second connection for the file is not offered
		c.Args.IntIn(0, 1, errZeroOrOne)
	case commands.EqualFold(option, "RDB-FILTER-ONLY"):
		f, err := readFilterOnly(c.Args.String())
		if err != nil {
			return h, err
		}
		h.Filter = &f
	default:
		return h, errReplicaOption(option)
	}
	return h, c.Args.Err()
}

// readFilterOnly reads words; only one is known.
func readFilterOnly(text string) (f ReplicaFilter, err error) {
	if strings.Count(text, `"`)%2 == 1 || strings.Count(text, `'`)%2 == 1 {
		return f, errFilterValues
	}
	f = ReplicaNothing
	for _, word := range strings.Fields(text) {
		if word = strings.Trim(word, `"'`); !strings.EqualFold(word, "functions") {
			return f, errFilterOption(word)
		}
		f = ReplicaFunctions
	}
	return f, nil
}

func syncAll(c *commands.Ctx) error {
	if err := c.Args.Done(); err != nil {
		return err
	}
	return c.Host.(Source).ReplicaSync("?", -1, true)
}

func syncFrom(c *commands.Ctx) error {
	stream, offset := c.Args.String(), c.Args.Int()
	if err := c.Args.Err(); err != nil {
		return err
	}
	if c.Args.More() && c.Args.Is("FAILOVER") {
		if err := c.Host.(Replication).Succeed(stream); err != nil {
			return err
		}
	}
	return c.Host.(Source).ReplicaSync(stream, offset, false)
}
