package resharding

import (
	"time"

	"github.com/vigildb/vigil/structures/slots"
)

// LookAgain is the time between two looks at a division of the slots that is about to change.
const LookAgain = 50 * time.Millisecond

// Departures sends clients away that wait for a key whose slot is not this group's any more: nobody changes the key here. As in
// Redis they get the error that a call for the slot gets now. A slot goes by a move, and it goes without one when the group is
// removed from the cluster, or another group turns out to have had it for longer.
type Departures struct {
	o    *Options
	keys *Keys
	wake chan struct{} // has room for one: a wake that is not taken yet is enough
}

// Look makes Run look at the slots.
func (d *Departures) Look() {
	select {
	case d.wake <- struct{}{}:
	default: // it is about to
	}
}

// Run sends clients away when slots have gone. It ends with the server.
func (d *Departures) Run() {
	for had := slots.All(); ; {
		select {
		case <-d.o.Done.Done():
			return
		case <-d.wake:
		}
		kept, own := d.o.Divided()
		if own == nil {
			own = slots.All()
		}
		if kept == nil || own.Without(kept).Len() > 0 { // until calls are judged by what is new others may begin to wait
			d.o.Clock.AfterFunc(LookAgain, d.Look)
			continue
		}
		if gone := had.Without(kept); gone.Len() > 0 {
			sendAway(d.o, d.keys, gone)
		}
		had = kept
	}
}

// sendAway sends clients that wait for keys of slots which the group does not have any more to the server that has them.
func sendAway(o *Options, k *Keys, of *slots.Set) {
	if k.drain(o.Done, false) == nil { // until then others may begin to wait
		o.Calls.SendAway(of)
	}
}
