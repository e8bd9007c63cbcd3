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
	inert                        // checked and kept, but nothing looks at it
)

// directive is one row of the table.
type directive struct {
	name, alias string
	kind        kind
	def         string // default, as CONFIG GET shows it
	flags       flags
	doc         string
	// set copies the value to its field. It is nil for a directive that means
	// nothing here.
	set func(*Settings, value)
}

// section is a part of the table with its heading in the documentation.
type section struct {
	title string
	rows  []directive
}

// sections is the table. The rows of the last section mean nothing here.
func sections() []section {
	ignored := replicationRows()
	ignored = append(ignored, clusterRows()...)
	ignored = append(ignored, tlsRows()...)
	ignored = append(ignored, journalRows()...)
	ignored = append(ignored, engineRows()...)
	return []section{
		{"Network", networkRows()},
		{"Process", processRows()},
		{"Access", accessRows()},
		{"Data on disk", diskRows()},
		{"Memory", memoryRows()},
		{"Encodings", encodingsRows()},
		{"Watching", watchingRows()},
		{"Known and ignored", ignored},
	}
}
