package conf

import (
	"errors"
	"math"
	"strings"
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/slots"
)

// groupName refuses what is no name of a group.
func groupName(s string) error {
	for _, c := range s {
		if c <= ' ' || c > '~' {
			return errors.New("the name of a group has letters, digits and signs of ASCII only")
		}
	}
	if len(s) > 64 {
		return errors.New("the name of a group has 64 bytes at most")
	}
	return nil
}

func slotRanges(s string) error {
	_, err := slots.Parse(s)
	return err
}

// hostname refuses what cannot be told clients as the name of a host.
func hostname(s string) error {
	if len(s) > 255 {
		return errors.New("Hostnames must be less than 256 characters")
	}
	for _, c := range []byte(s) {
		if !isAlphanumeric(c) && c != '-' && c != '.' {
			return errors.New("Hostnames may only contain alphanumeric characters, hyphens or dots")
		}
	}
	return nil
}

// zone refuses what is too long to be sent along.
func zone(s string) error {
	if len(s) > 255 {
		return errors.New("Availability zones must be less than 256 characters")
	}
	return nil
}

// nodename refuses what Redis refuses, as it has signs of its files, and what is too long to be sent along.
func nodename(s string) error {
	if len(s) > 255 {
		return errors.New("Announced human node names must be less than 256 characters")
	}
	if strings.ContainsAny(s, "!#$%&()*+:;<>?@[]^{|}~") {
		return errors.New("Announced human node name contained invalid character")
	}
	return nil
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// minClusterSilence is the least time after which a group counts as lost: the network and the schedulers of both sides need some.
const minClusterSilence = time.Second

// groupRows are those of a server that is one of several with the same data.
func groupRows() []directive {
	return []directive{
		{name: "cluster-members", kind: text(), def: "", flags: settled,
			doc: "The founders of a group as `id=host:port`, with blanks between them, the same on all of them: three or five with the ports of clients. Members reach each other at ports that are 10000 higher. It founds the group; who is in it later the group knows by itself. Empty for a server that is alone or joins.",
			set: func(s *Settings, v value) { s.ClusterMembers = v.text }},
		{name: "cluster-join", kind: text(), def: "", flags: settled,
			doc: "Addresses of members of a group, with blanks between them, that a server with a new directory asks to take it in. It may stay in the configuration: a directory that belongs to a member asks no more.",
			set: func(s *Settings, v value) { s.ClusterJoin = v.text }},
		{name: "cluster-replaces", kind: integer(0, math.MaxUint32), def: "0", flags: settled,
			doc: "The number of the member in whose place a server that joins is to vote: that one leaves. 0 for none.",
			set: func(s *Settings, v value) { s.ClusterReplaces = uint64(v.n) }},
		{name: "cluster-member-id", kind: integer(0, math.MaxUint32), def: "0", flags: settled,
			doc: "Which member this server is. A founder needs it the first time, one that joins gets a number from the group. A directory of another member is refused.",
			set: func(s *Settings, v value) { s.ClusterMemberID = uint64(v.n) }},
		{name: "cluster-announce-ip", kind: text(), def: "", flags: settled,
			doc: "The address or name at which clients and other members find this server. By default a founder has that of `cluster-members`, and one that joins that of the interface by which it reaches `cluster-join`.",
			set: func(s *Settings, v value) { s.ClusterAnnounceIP = v.text }},
		{name: "cluster-announce-port", kind: integer(0, 65535), def: "0", flags: settled,
			doc: "The port at which clients find this server, if it is not `port`; other members find it at one that is 10000 higher, unless `cluster-announce-bus-port` or `cluster-port` is given.",
			set: func(s *Settings, v value) { s.ClusterAnnouncePort = int(v.n) }},
		{name: "cluster-announce-tls-port", kind: integer(0, 65535), def: "0", flags: settled,
			doc: "The same for a server whose `port` is 0, if its clients do not find it at `tls-port`.",
			set: func(s *Settings, v value) { s.ClusterAnnounceTLSPort = int(v.n) }},
		{name: "cluster-port", kind: integer(0, 65535), def: "0", flags: immutable,
			doc: "The port at which this server listens for other members and servers of the cluster; 0 is 10000 above that of clients. In `cluster-members`, `cluster-join` and `cluster-peers` such a server is `host:port@bus`.",
			set: func(s *Settings, v value) { s.ClusterPort = int(v.n) }},
		{name: "cluster-announce-bus-port", kind: integer(0, 65535), def: "0", flags: settled,
			doc: "The port at which others find this server, if it is not the one at which it listens for them, as behind a translation of addresses.",
			set: func(s *Settings, v value) { s.ClusterAnnounceBus = int(v.n) }},
		{name: "cluster-announce-hostname", kind: text(hostname), def: "",
			doc: "A name of this server that clients of a cluster are told beside its address, or in its place: see `cluster-preferred-endpoint-type`. All servers of the cluster know it within a second. Members of a group do not use it to find each other.",
			set: func(s *Settings, v value) { s.ClusterHostname = v.text }},
		{name: "cluster-announce-human-nodename", kind: text(nodename), def: "",
			doc: "A name of this server for people, in VIGIL.CLUSTER STATUS of all members of its group.",
			set: func(s *Settings, v value) { s.ClusterNodename = v.text }},
		{name: "cluster-name", kind: text(), def: "mymaster", flags: settled,
			doc: "The name by which clients of Redis Sentinel ask for the leader of the group, at any member.",
			set: func(s *Settings, v value) { s.ClusterName = v.text }},
		{name: "cluster-view", kind: oneOf("sentinel", "cluster"), def: "sentinel", flags: settled,
			doc: "What clients see of the group, the same on all members: `sentinel`, a master with replicas that Sentinels watch, or `cluster`, a Redis Cluster with the group as a shard. With `cluster-enabled yes` it is `cluster`.",
			set: func(s *Settings, v value) { s.ClusterView = View(v.n) }},
		{name: "cluster-secret", kind: text(), def: "", flags: settled | sensitive,
			doc: "A secret of at least 16 bytes, the same on all members, for example of `openssl rand -hex 16`. A store keeps the one that it began with.",
			set: func(s *Settings, v value) { s.ClusterSecret = v.text }},
		{name: "cluster-enabled", kind: yesNo(), def: "no", flags: settled,
			doc: "With `yes` a server with a new directory that is told of no other founders (`cluster-members`) and joins none (`cluster-join`) founds a group by itself, which other groups meet. It needs `cluster-secret`.",
			set: func(s *Settings, v value) { s.ClusterEnabled = v.n == 1 }},
		{name: "cluster-group", kind: text(groupName), def: "", flags: settled,
			doc: "The name of the group, the same on all of its members, which tells it from the other groups of a cluster. A server that founds a group by itself draws one by lot if none is given.",
			set: func(s *Settings, v value) { s.ClusterGroup = v.text }},
		{name: "cluster-slots", kind: text(slotRanges), def: "", flags: settled,
			doc: "The slots with which the group begins, such as `0-5460 6000`, the same on all of its members. By default all, or with `cluster-enabled` or `cluster-peers` none. A group that has others keeps these.",
			set: func(s *Settings, v value) { s.ClusterSlots = v.text }},
		{name: "cluster-peers", kind: text(), def: "", flags: settled,
			doc: "Addresses of members of other groups of the cluster as `host:port`, with blanks between them. One that can be reached is enough to find the others; a group that begins waits for all of them before it takes slots.",
			set: func(s *Settings, v value) { s.ClusterPeers = v.text }},
		{name: "cluster-databases", kind: integer(1, math.MaxInt32), def: "1", flags: settled,
			doc: "Number of databases that clients of a cluster can SELECT, in place of `databases`; the same on all servers of the cluster. More than `databases` only in groups that are founded with it. docs/cluster.md says what more than one needs.",
			set: func(s *Settings, v value) { s.ClusterDatabases = int(v.n) }},
		{name: "cluster-preferred-endpoint-type", kind: oneOf("ip", "hostname", "unknown-endpoint"), def: "ip", flags: shared,
			doc: "Which host -MOVED, CLUSTER SLOTS and CLUSTER SHARDS tell clients of a node: `ip`, that of its address; `hostname`, its `cluster-announce-hostname`, or the host of its address if that is a name, and `?` if it has none; `unknown-endpoint`, none, so that clients use the one by which they have reached the server, as behind a balancer.",
			set: func(s *Settings, v value) { s.ClusterEndpoint = commands.Endpoint(v.n) }},
		{name: "cluster-node-timeout", kind: integer(0, math.MaxInt32), def: "15000",
			doc: "For how many milliseconds another group may not be heard before it counts as lost; less than 1000 counts as 1000. A group elects its own leader by `cluster-election-timeout`.",
			set: func(s *Settings, v value) {
				s.ClusterSilence = max(time.Duration(v.n)*time.Millisecond, minClusterSilence)
			}},
		{name: "cluster-require-full-coverage", kind: yesNo(), def: "yes", flags: shared,
			doc: "With `yes` no slot can be used while a slot has no group, or a group that has slots is lost.",
			set: func(s *Settings, v value) { s.ClusterFullCoverage = v.n == 1 }},
		{name: "cluster-election-timeout", kind: integer(100, 60000), def: "500", flags: settled,
			doc: "Milliseconds without a word of the leader after which the others elect a new one, the same on all members.",
			set: func(s *Settings, v value) { s.ClusterElection = time.Duration(v.n) * time.Millisecond }},
		{name: "cluster-log-bound", kind: memory(1<<20, math.MaxInt64), def: "268435456", flags: settled,
			doc: "How much of the log a member keeps for others that lag behind. One that lacks more gets all data anew.",
			set: func(s *Settings, v value) { s.ClusterLogBound = v.n }},
		{name: "cluster-replica-max-stale", kind: integer(0, math.MaxInt32), def: "10",
			flags: settled,
			doc:   "Seconds for which a follower that does not hear its leader may be read by clients that have sent READONLY.",
			set:   func(s *Settings, v value) { s.ClusterMaxStale = time.Duration(v.n) * time.Second }},
		{name: "cluster-allow-reads-when-down", kind: yesNo(), def: "no", flags: shared,
			doc: "With `cluster-view cluster`: clients that have sent READONLY may read a follower that does not hear its leader for as long as they like.",
			set: func(s *Settings, v value) { s.ClusterReadsWhenDown = v.n == 1 }},
		{name: "cluster-allow-pubsubshard-when-down", kind: yesNo(), def: "yes", flags: shared,
			doc: "With `cluster-view cluster`: a follower that does not hear its leader takes SSUBSCRIBE and SPUBLISH.",
			set: func(s *Settings, v value) { s.ClusterShardChannelsWhenDown = v.n == 1 }},
	}
}
