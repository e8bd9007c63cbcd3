package cluster

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"

	"github.com/vigildb/vigil/persistence/member"
	"github.com/vigildb/vigil/server/cluster/topology"
)

// The stores of all members of a group have in common from the beginning where the keys of their hashes come from, as restored
// values lie in the order of these, and how many databases there are. As a rule both follow from the configuration. A group that was
// founded with the store of a server that was alone has those of that store (ADR 0126): a server that joins asks for them before it makes
// its own.

// common is what the stores of all members have in common.
type common struct {
	secret    [16]byte
	databases int
}

// errOtherHashes is the error for a server whose store cannot become one of the group.
var errOtherHashes = errors.New("cluster: the store of the server has other hashes than those of the group, which began with the store of a server that was alone, " +
	"or by members of an older version: start the server with cluster-join in a new directory")

func commonOf(store *member.Member) (c common) {
	c.secret, c.databases = store.Common()
	return c
}

// id is what a server says of its hashes that joins. It does not tell what they come from.
func (c *common) id() []byte {
	sum := sha256.Sum256(append([]byte("vigil hashes of a group"), c.secret[:]...))
	return sum[:16]
}

// admits returns an error for a server that cannot join as its store has something else in common. One of an older version
// says nothing, and has what follows from the configuration.
func (c *common) admits(q *request, secret string) error {
	id := q.Hashes
	if id == nil {
		usual, err := topology.Hashes(secret)
		if err != nil {
			return err
		}
		id = (&common{secret: usual}).id()
	}
	switch {
	case !bytes.Equal(id, c.id()):
		return errOtherHashes
	case q.Databases != 0 && q.Databases != c.databases:
		return fmt.Errorf("cluster: the group has %d databases, and the store of the server %d: start it with cluster-join in a new directory", c.databases, q.Databases)
	}
	return nil
}

// Begin returns what a new store of this server begins with, for [persistence.Options]. One that joins a group waits
// until a member says it.
func (h *Handle) Begin() (secret [16]byte, databases int, err error) {
	n := h.Node()
	if secret, err = topology.Hashes(n.config.Secret); err != nil || len(n.config.Members) > 0 || len(n.config.Join) == 0 {
		return secret, 0, err
	}
	self := &topology.Identity{Name: n.config.Name}
	self.Group = topology.GroupID(n.config.Secret, self.Name)
	if err := n.findGroup(n.ctx, self); err != nil {
		return secret, 0, err
	}
	a, err := n.insist(n.ctx, self, func() []string { return n.config.Join }, &request{What: asksCommon}, 0)
	var refused refusedRequest
	switch {
	case errors.As(err, &refused): // by a leader of an older version, or the server may not join, which it is told then
		return secret, 0, nil
	case err != nil:
		return secret, 0, err
	case len(a.Secret) != len(secret) || a.Databases <= 0 || a.Databases > math.MaxInt32:
		return secret, 0, fmt.Errorf("cluster: a member says that its store has %d databases, and a secret of %d bytes", a.Databases, len(a.Secret))
	}
	return [16]byte(a.Secret), a.Databases, nil
}
