package types

// Form is what changes and heads of values of a type may be from a level of a group on: what is above it is of a version that not all
// members may have.
type Form struct {
	Level uint64 // persistence.NewestLevel says what that is
	Ops   byte   // the highest operation of the changes; they begin with structures.FirstOp
	Head  byte   // the latest form of the heads, see structures.Formed
}

// The levels of the table. A version is released with what it adds: a type, an operation or a form of heads that comes after that is a Form
// of a level of its own.
const (
	first   = 1 // persistence.LevelUntold
	modules = 3 // persistence.LevelModules
	timed   = 4 // persistence.LevelTimed
)
