package server

import (
	"time"

	"github.com/vigildb/vigil/commands"
	"github.com/vigildb/vigil/structures/slots"
)

// Clients that wait for a key whose slot is not this group's any more are not served by waiting: nobody changes the key
// here. As in Redis they get the error that a call for the slot gets now. A slot goes by a move, and it goes without one
// when the group is buried, or another group turns out to have had it for longer.

// lookAgain is when the server looks again at a division of the slots that is about to change.
const lookAgain = 50 * time.Millisecond

// runDepartures sends clients away when slots have gone. It ends with the server.
func (srv *Server) runDepartures() {
	for had := slots.All(); ; {
		select {
		case <-srv.done.Done():
			return
		case <-srv.departures:
		}
		kept := srv.channels.Kept()
		own, _ := srv.opts.Group.Shard()
		if own == nil {
			own = slots.All()
		}
		if kept == nil || own.Without(kept).Len() > 0 { // until calls are judged by what is new others may begin to wait
			srv.clock.AfterFunc(lookAgain, srv.departures.look)
			continue
		}
		if gone := had.Without(kept); gone.Len() > 0 {
			srv.sendAway(gone)
		}
		had = kept
	}
}

// departures wakes runDepartures. It has room for one: a wake that is not taken yet is enough.
type departures chan struct{}

// look has runDepartures look at the slots.
func (d departures) look() {
	select {
	case d <- struct{}{}:
	default: // it is about to
	}
}

// sendAway sends clients that wait for keys of slots which the group does not have any more to the one that has them, and
// has the transactions of those that watch such keys fail.
func (srv *Server) sendAway(of *slots.Set) {
	if srv.settleDown(srv.done, false) != nil { // until then others may begin to wait
		return
	}
	for _, k := range srv.watches.inDB(0) {
		if of.Has(commands.KeySlot([]byte(k.Name))) {
			srv.watches.touch(0, []byte(k.Name))
		}
	}
	for _, w := range srv.blocked.All() {
		for _, key := range w.Keys {
			if slot := commands.KeySlot(key); of.Has(slot) {
				srv.blocked.Refuse(w, srv.elsewhere(slot).WireError)
				break
			}
		}
	}
}
