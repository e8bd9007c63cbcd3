package schedule

import "errors"

var (
	// ErrExists is returned by Create on a schedule that has been created.
	ErrExists = errors.New("schedule: exists already")
	// ErrNotCreated is returned by every other method before Create.
	ErrNotCreated = errors.New("schedule: not created")
	// ErrNoNode is returned when the schedule has no node of that name.
	ErrNoNode = errors.New("schedule: no such node")
	// ErrNotLeased is returned by Observe and Fail for a node that was not
	// handed out, was observed or failed since, or whose lease has ended.
	ErrNotLeased = errors.New("schedule: node is not leased")
	// ErrItems is returned by Observe when the items found are negative,
	// infinite, not a number, or greater than scheduler.MaxNumber.
	ErrItems = errors.New("schedule: items must be a number from 0 to 1e15")
	// ErrCount is returned when a number of probes is not in 1 to MaxCount.
	ErrCount = errors.New("schedule: count is out of range")
	// ErrLease is returned when a lease is not in 0 to MaxMillis.
	ErrLease = errors.New("schedule: lease is out of range")
	// ErrStepMillis is returned when the length of a step of the wall clock is
	// not in 0 to MaxMillis.
	ErrStepMillis = errors.New("schedule: milliseconds per step are out of range")
	// ErrExplore is returned when the exploring fraction is not in 0 to 1.
	ErrExplore = errors.New("schedule: exploring fraction is out of range")
	// ErrBudget is returned when a budget is not 0 or in scheduler.MinCost to
	// scheduler.MaxNumber.
	ErrBudget = errors.New("schedule: budget is out of range")
	// ErrNoBudget is returned when a policy does not support budgets.
	ErrNoBudget = errors.New("schedule: the policy does not support budgets")
	// ErrPriceOf is returned when the price of probes is not 0 or in 1e-100 to
	// scheduler.MaxNumber.
	ErrPriceOf = errors.New("schedule: price of probes is out of range")
	// ErrPrice is returned when what a probe has cost is not in 0 to
	// scheduler.MaxNumber.
	ErrPrice = errors.New("schedule: cost of a probe is out of range")
	// ErrQuiet is returned when the quiet time after a hand-out is not in 0 to
	// MaxMillis.
	ErrQuiet = errors.New("schedule: quiet milliseconds are out of range")
	// ErrAgo is returned when a signal is of the future or older than MaxMillis.
	ErrAgo = errors.New("schedule: age of a signal is out of range")
	// ErrPause is returned when a pause is not in 0 to MaxMillis.
	ErrPause = errors.New("schedule: pause is out of range")
	// ErrWindow is returned when K is not greater than 0 and at most
	// scheduler.MaxNumber.
	ErrWindow = errors.New("schedule: window is out of range")
	// ErrLimit is returned when a limit of a group is negative or beyond MaxMillis
	// milliseconds, scheduler.MaxStep steps or 2^31-1 leases.
	ErrLimit = errors.New("schedule: limit of a group is out of range")
	// ErrNoGroup is returned when the schedule has no group of that name.
	ErrNoGroup = errors.New("schedule: no such group")
	// ErrName is returned when the name of a node is longer than MaxName.
	ErrName = errors.New("schedule: node name is too long")
	// ErrFull is returned by Add when there are scheduler.MaxNodes nodes.
	ErrFull = errors.New("schedule: too many nodes")
	// ErrSteps is returned by Next after scheduler.MaxStep steps.
	ErrSteps = errors.New("schedule: no steps left")
)
