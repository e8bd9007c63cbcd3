// Package groups lists the families of commands. A new family is a line here.
package groups

import (
	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/commands/acl"
	"github.com/vigildb/vigil/commands/admin"
	"github.com/vigildb/vigil/commands/bits"
	"github.com/vigildb/vigil/commands/bloom"
	"github.com/vigildb/vigil/commands/cluster"
	"github.com/vigildb/vigil/commands/cms"
	"github.com/vigildb/vigil/commands/conn"
	"github.com/vigildb/vigil/commands/cuckoo"
	"github.com/vigildb/vigil/commands/geo"
	"github.com/vigildb/vigil/commands/hashes"
	"github.com/vigildb/vigil/commands/hll"
	"github.com/vigildb/vigil/commands/json"
	"github.com/vigildb/vigil/commands/keys"
	"github.com/vigildb/vigil/commands/lists"
	"github.com/vigildb/vigil/commands/members"
	"github.com/vigildb/vigil/commands/place"
	"github.com/vigildb/vigil/commands/pubsub"
	"github.com/vigildb/vigil/commands/sched"
	"github.com/vigildb/vigil/commands/script"
	"github.com/vigildb/vigil/commands/sentinel"
	"github.com/vigildb/vigil/commands/sets"
	"github.com/vigildb/vigil/commands/streams"
	"github.com/vigildb/vigil/commands/tdigest"
	"github.com/vigildb/vigil/commands/text"
	"github.com/vigildb/vigil/commands/topk"
	"github.com/vigildb/vigil/commands/zsets"
)

// All lists the groups, in the order in which docs/commands.md shows them.
func All() []commands.Group {
	return []commands.Group{
		conn.Group(), conn.TransactionGroup(), pubsub.Group(), script.Group(), admin.Group(), acl.Group(), cluster.Group(), sentinel.Group(), members.Group(), keys.Group(),
		text.Group(), bits.Group(), lists.Group(), hashes.Group(), sets.Group(), zsets.Group(), geo.Group(), streams.Group(), hll.Group(), bloom.Group(), cuckoo.Group(), cms.Group(), topk.Group(), tdigest.Group(), json.Group(),
		sched.Group(), place.Group(),
	}
}
