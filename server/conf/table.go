package conf

// flags of a directive.
type flags uint8

const (
	immutable  flags = 1 << iota // only in files and on the command line
	protected                    // CONFIG SET needs enable-protected-configs
	sensitive                    // the value is a secret
	hidden                       // CONFIG GET shows it only under its full name
	notLoading                   // CONFIG SET is refused while data is loaded
	always                       // CONFIG REWRITE writes it even at its default
)

// effect is what a directive does here.
type effect uint8

const (
	// works: it does what its row says.
	works effect = iota
	// inert: it is checked, kept and shown, and nothing looks at it. Whoever sets
	// it is not less safe by that, and no client sees other data.
	inert
	// absent: it protects something, or changes what the server is, and vigil
	// does not have it. Only its default is accepted: a server that started all
	// the same would not be what its owner takes it for.
	absent
)

// directive is one row of the table.
type directive struct {
	name, alias string
	kind        kind
	def         string // default, as CONFIG GET shows it
	flags       flags
	effect      effect
	doc         string
	// instead says what to do in place of a directive that is absent.
	instead string
	// set copies the value to its field. A directive that works has it.
	set func(*Settings, value)
}

// section is a part of the table with its heading in the documentation.
type section struct {
	title string
	// note says why nothing of the section works here; empty for others.
	note string
	rows []directive
}

// sections is the table. Those with a note come last.
func sections() []section {
	return []section{
		{"Network", "", networkRows()},
		{"Process", "", processRows()},
		{"Access", "", accessRows()},
		{"Data on disk", "", diskRows()},
		{"Memory", "", memoryRows()},
		{"Encodings", "", encodingsRows()},
		{"Watching", "", watchingRows()},
		{"Replication", "There are no replicas.", replicationRows()},
		{"Cluster mode", "There is no cluster mode.", clusterRows()},
		{"Encryption", "Connections are not encrypted.", tlsRows()},
		{"Files of Redis", "There is neither an append only file nor an RDB file.", journalRows()},
		{"Insides of Redis", "vigil works in another way, or need not be told.", engineRows()},
	}
}
