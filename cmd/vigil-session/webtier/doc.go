// Package webtier is the serving layer's side of the session microservice: it
// publishes what visitors do, and waits for answers no longer than a page can.
//
// Tell is the path that a page does not depend on: publish and continue. Ask is
// the other one: publish, then wait on the list that belongs to this request
// alone. If no answer comes within the budget, Ask returns ErrDegraded and the
// page is served without it.
//
//	sessions := webtier.New(redis.NewClient(webtier.Pool(&redis.Options{Addr: addr}, 256)), webtier.Options{})
//	view, err := sessions.PageView(ctx, session, r.URL.Path)
//	if errors.Is(err, webtier.ErrDegraded) {
//		// serve the page without what the session knows
//	}
//
// A request's id is drawn at random with 130 bits, and its list is read once.
// So an answer that is late, comes twice or was meant for someone else is never
// given to another request; it expires in its list.
//
// Servers must be Redis 6 or newer, whose BLPOP takes fractions of a second.
package webtier
