package membership

import (
	"github.com/vigildb/vigil/persistence"
	"github.com/vigildb/vigil/server/cluster/raftnode"
)

// BecomeAlone makes a store that no server has open, of a member of a group, one that is alone: see [persistence.BecomeAlone]. All that its log
// has counts as committed. A group of a level that this version does not know is an error.
func BecomeAlone(o persistence.Options, left func(users, directives map[string]string) error) error {
	o.Replicator = raftnode.NewProposals()
	return persistence.BecomeAlone(o, raftnode.CommitAll, left)
}
