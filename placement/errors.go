package placement

import "errors"

var (
	// ErrStrategy is returned when a strategy's name or number is unknown.
	ErrStrategy = errors.New("placement: unknown strategy")
	// ErrOption is returned when an option is out of its range.
	ErrOption = errors.New("placement: option out of range")
	// ErrCapacity is returned when a capacity is not a number, not positive,
	// or too far from the others to be told apart exactly.
	ErrCapacity = errors.New("placement: capacity out of range")
	// ErrUniform is returned when a strategy for equal units is given
	// different capacities.
	ErrUniform = errors.New("placement: this strategy needs equal capacities")
	// ErrUnit is returned when a unit is unknown.
	ErrUnit = errors.New("placement: no such unit")
	// ErrDuplicate is returned when one change names a unit twice.
	ErrDuplicate = errors.New("placement: unit named twice")
	// ErrLast is returned when a change would leave no unit.
	ErrLast = errors.New("placement: the last unit cannot be removed")
	// ErrName is returned when a unit's or domain's name is empty or too long.
	ErrName = errors.New("placement: bad name of a unit or domain")
	// ErrLimit is returned when there would be more units, or a bigger
	// table, than the strategy allows.
	ErrLimit = errors.New("placement: too many units")
	// ErrCopies is returned when more copies are asked for than there are
	// units in different domains.
	ErrCopies = errors.New("placement: more copies than units in different domains")
	// ErrBound is returned when objects are assigned to a map without Bound.
	ErrBound = errors.New("placement: the map has no bound")
	// ErrObjects is returned when there would be more than MaxObjects objects.
	ErrObjects = errors.New("placement: too many objects are assigned")
	// ErrPreview is returned when a preview would compare too many pairs of
	// units; a change in several steps has shorter ones.
	ErrPreview = errors.New("placement: the preview is too long")
	// ErrEmpty is returned when a map without units is asked for a place.
	ErrEmpty = errors.New("placement: no units")
	// ErrCorrupt is returned when bytes are not an encoded map.
	ErrCorrupt = errors.New("placement: corrupted map")
)
