package conf

import (
	"time"

	"github.com/vigildb/vigil/commands"
)

// Settings is the configuration at one moment. It is never changed; a reader
// that needs several fields to agree takes one Settings and uses that.
type Settings struct {
	// Network.
	Bind           []string // addresses; "*" and "::*" mean all, "-" in front means optional
	Port           int      // 0: no TCP; PortAuto: any that is free
	UnixSocket     string   // path, or empty
	UnixSocketPerm uint32   // 0: as the umask gives
	TCPBacklog     int
	TCPKeepAlive   time.Duration // 0: off
	Timeout        time.Duration // of idle clients; 0: never
	ProtectedMode  bool
	MaxClients     int
	IOThreads      int      // event loops; 0: half as many as processors
	HTTPPort       int      // of the window; 0: none; PortAuto: any that is free
	HTTPBind       []string // in the notation of Bind

	// Encryption.
	TLSPort           int // 0: none; PortAuto: any that is free
	TLSCertFile       string
	TLSKeyFile        string
	TLSKeyFilePass    string
	TLSCACertFile     string
	TLSCACertDir      string
	TLSAuthClients    TLSAuth
	TLSClientUser     TLSUser
	TLSAutoReload     time.Duration // between looks at the files; 0: none
	TLSProtocols      string
	TLSCiphers        string
	TLSCipherSuites   string
	TLSSessionCaching bool
	TLSCluster        bool // between members
	TLSReplication    bool // to a master

	// Of the connection to a master.
	TLSClientCertFile    string
	TLSClientKeyFile     string
	TLSClientKeyFilePass string

	// Replication.
	MasterHost            string // empty: none
	MasterPort            int
	MasterUser            string
	MasterAuth            string
	ReplicaReadOnly       bool
	ReplicaServeStaleData bool
	ReplicaPassErrors     bool // commands of the master that fail do not end the replication
	ReplicaPassUnknown    bool // unknown ones do not
	ReplicaAnnounceIP     string
	ReplicaAnnouncePort   int // 0: that of the server
	ReplicaAnnounced      bool
	ReplicaPriority       int

	// Limits of the protocol, in bytes.
	ProtoMaxBulkLen        int64
	ClientQueryBufferLimit int64
	MaxMemoryClients       int64          // 0: none; negative: that percentage of MaxMemory
	OutputLimits           [3]OutputLimit // by ClientClass

	// Process.
	Daemonize         bool
	Supervised        Supervised
	PidFile           string
	LogLevel          LogLevel
	LogFormat         LogFormat
	LogTime           LogTime
	AvailabilityZone  string
	LogFile           string // empty: standard output
	AuditLog          bool
	AuditLogFile      string // empty: the log
	Databases         int
	ShutdownOnSigint  ShutdownFlags
	ShutdownOnSigterm ShutdownFlags

	// Access.
	RequirePass            string
	ACLFile                string
	ACLResetChannels       bool // acl-pubsub-default
	ACLLogMaxLen           int
	Users                  []UserLine // user lines, in order
	EnableDebugCommand     Permission
	EnableProtectedConfigs Permission
	Renames                []Rename // rename-command, in order

	// The group of machines; ClusterSecret is empty for a server that is alone.
	ClusterMembers  string // founders
	ClusterJoin     string // addresses
	ClusterReplaces uint64 // member
	// Where others find the server, if not where the configuration says otherwise.
	ClusterAnnounceIP      string
	ClusterAnnouncePort    int
	ClusterAnnounceTLSPort int
	ClusterAnnounceBus     int
	ClusterPort            int // for other members, 0 for the usual one
	ClusterMemberID        uint64
	ClusterName            string // for Sentinel's clients
	ClusterView            View
	ClusterEndpoint        commands.Endpoint
	ClusterHostname        string // that this server announces
	ClusterNodename        string // likewise
	ClusterDatabases       int    // that clients of a cluster see
	ClusterEnabled         bool   // the server founds a group by itself
	ClusterGroup           string // name
	ClusterSlots           string // with which the group begins; nil: not said
	ClusterPeers           string // addresses of members of other groups
	ClusterSecret          string
	ClusterElection        time.Duration // timeout of an election
	ClusterMaxStale        time.Duration // of a follower that is read
	ClusterLogBound        int64         // bytes of the log for members that lag

	// What a member does for clients of Redis Cluster while it hears no leader, or slots are not served.
	ClusterReadsWhenDown, ClusterShardChannelsWhenDown, ClusterFullCoverage bool
	ClusterSilence                                                          time.Duration // after which a group counts as lost

	// Data on disk.
	ImportDir    string
	Dir          string // absolute
	Save         []SavePoint
	SnapshotKeep int // automatic ones; 0: all
	AppendOnly   bool
	// ThrowAway: save "" and appendonly no were both given, in a file or on the
	// command line, so that data is kept in memory only. CONFIG SET does not
	// change it.
	ThrowAway   bool
	AppendFsync Fsync
	Backup      Backup

	// Memory.
	MaxMemory        int64 // bytes; 0: no limit
	MaxMemoryPolicy  Policy
	MaxMemorySamples int

	// Encodings of small values.
	HashMaxListpackEntries int64
	HashMaxListpackValue   int64
	SetMaxIntsetEntries    int64
	ZSetMaxListpackEntries int64
	ZSetMaxListpackValue   int64
	HLLSparseMaxBytes      int64
	ModuleListJSON         bool
	StreamNodeMaxBytes     int64
	StreamNodeMaxEntries   int64
	ImportMode             bool
	ReportedVersion        string
	StreamIdmpDuration     int64
	StreamIdmpMaxSize      int64

	// Filters that commands make without being told their shape.
	BloomErrorRate        float64
	BloomInitialSize      int64
	BloomExpansionFactor  int64
	CuckooBucketSize      int64
	CuckooInitialSize     int64
	CuckooMaxIterations   int64
	CuckooExpansionFactor int64
	CuckooMaxExpansions   int64
	ModuleListBF          bool

	// Replicas.
	ReplBacklogSize   int64         // bytes
	ReplBacklogTTL    time.Duration // 0: for ever
	ReplTimeout       time.Duration
	ReplPingPeriod    time.Duration
	ReplSyncDelay     time.Duration
	MinReplicas       int // 0: any number
	MinReplicasMaxLag time.Duration
	ReplModules       bool
	RDBCompression    bool

	// Watching.
	SlowlogLogSlowerThan int64 // microseconds; 0: everything; negative: nothing
	SlowlogMaxLen        int64
	LargeRequestBytes    int64
	LargeRequestMaxLen   int64
	LargeReplyBytes      int64
	LargeReplyMaxLen     int64
	LogEntryArgs         int64
	LogEntryBytes        int64
	LatencyThreshold     int64     // ms; 0: LATENCY records nothing
	LatencyTracking      bool      // keep a histogram for each command
	LatencyPercentiles   []float64 // of INFO latencystats, as given
	NotifyKeyspaceEvents commands.EventClass
	TrackingTableMaxKeys int64 // 0: no limit
	BusyReplyThreshold   int64 // milliseconds; 0: never
	LuaMemoryLimit       int64
}

// PortAuto is the port "auto".
const PortAuto = -1

// TLSUser says what of the certificate of a client names its user.
type TLSUser int

const (
	TLSUserOff TLSUser = iota
	TLSUserCN          // the common name
	TLSUserURI         // an alternative name that is a URI
)

// TLSAuth says which clients need a certificate.
type TLSAuth int

const (
	TLSAuthNo TLSAuth = iota
	TLSAuthYes
	TLSAuthOptional
)

// Rename is one rename-command; To is empty when the command is removed.
type Rename struct{ From, To string }

// SavePoint asks for a snapshot when so many changes happened in so many
// seconds.
type SavePoint struct {
	Seconds int64
	Changes int64
}

// ClientClass indexes Settings.OutputLimits.
type ClientClass int

const (
	NormalClient ClientClass = iota
	ReplicaClient
	PubSubClient
)

// OutputLimit bounds the replies that wait for a client: it is disconnected
// at Hard bytes, or after SoftSeconds above Soft bytes. 0 means no limit.
type OutputLimit struct {
	Hard, Soft  int64
	SoftSeconds int64
}

// Policy is what happens when MaxMemory is reached.
type Policy uint8

// The policies, in the order of policyNames.
const (
	VolatileLRU Policy = iota
	VolatileLFU
	VolatileRandom
	VolatileTTL
	AllKeysLRU
	AllKeysLFU
	AllKeysRandom
	NoEviction
	AllKeysLRM
	VolatileLRM
	// Spill keeps every key and moves cold ones from memory to disk.
	Spill
)

var policyNames = []string{"volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl", "allkeys-lru", "allkeys-lfu", "allkeys-random", "noeviction", "allkeys-lrm", "volatile-lrm", "spill"}

// String returns the name in the configuration.
func (p Policy) String() string { return policyNames[p] }

// Fsync is when a write is durable.
type Fsync uint8

const (
	FsyncEverySecond Fsync = iota
	FsyncAlways
	FsyncNo
)

// LogFormat is the form of a line of the log.
type LogFormat int

const (
	LogLegacy LogFormat = iota
	LogFmt
	LogJSON
)

// LogTime is how the log shows times.
type LogTime int

const (
	LogTimeLegacy LogTime = iota
	LogTimeISO
	LogTimeMillis
)

// LogLevel is the least important message that is logged.
type LogLevel uint8

const (
	LogDebug LogLevel = iota
	LogVerbose
	LogNotice
	LogWarning
	LogNothing
)

// Slotted reports whether clients see the group as a shard of a Redis Cluster.
func (s *Settings) Slotted() bool { return s.ClusterEnabled || s.ClusterView == ViewCluster }

// View is what clients see of a group of machines.
type View uint8

const (
	ViewSentinel View = iota // a master with replicas
	ViewCluster              // a Redis Cluster
)

// Permission is which clients may use a protected command or directive.
type Permission uint8

const (
	NoOne Permission = iota
	Anyone
	LocalOnly
)

// Allows reports whether a client has the permission, given whether it is on
// this machine.
func (p Permission) Allows(local bool) bool {
	return p == Anyone || p == LocalOnly && local
}

// Supervised is the supervisor that is notified when the server is ready.
type Supervised uint8

const (
	SupervisedUpstart Supervised = iota
	SupervisedSystemd
	SupervisedAuto
	SupervisedNo
)

// ShutdownFlags modify the shutdown that a signal begins; 0 is the default.
type ShutdownFlags uint8

const (
	ShutdownSave ShutdownFlags = 1 << iota
	ShutdownNoSave
	ShutdownNow
	ShutdownForce
	ShutdownSafe
	ShutdownFailover
)
