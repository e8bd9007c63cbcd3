package main

import (
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"

	"github.com/vigildb/vigil/cmd/vigil-session/wire"
)

// shelf is a product on the front page.
type shelf struct {
	Product product
	Seen    bool
}

// highlights is how many unseen products the front page shows large.
const highlights = 3

// home shows the catalogue, each product once: some that the visitor has not seen yet come first, what was seen comes last.
func (s *shop) home(w http.ResponseWriter, r *http.Request) {
	var paths, fresh []string
	for _, p := range catalogue {
		paths = append(paths, p.Path())
	}
	known := false
	a := s.ask(r, question{wire.FeaturedPages, fmt.Sprintf("[%d products]", len(paths)), func(ctx context.Context, visitor string) (err error) {
		fresh, err = s.web.FeaturedPages(ctx, visitor, paths)
		known = err == nil
		return err
	}})
	var featured []product
	var shelves, seen []shelf
	for _, p := range catalogue {
		switch {
		case !slices.Contains(fresh, p.Path()):
			seen = append(seen, shelf{p, known})
		case len(featured) < highlights:
			featured = append(featured, p)
		default:
			shelves = append(shelves, shelf{p, false})
		}
	}
	shelves = append(shelves, seen...)
	s.show(w, r, http.StatusOK, "home", "Night Owl", a, map[string]any{
		"Owl": drawings["owl"], "Featured": featured, "Shelves": shelves, "Known": known,
	})
}

func (s *shop) product(w http.ResponseWriter, r *http.Request) {
	p, ok := lookUp(r.PathValue("item"))
	if !ok {
		s.notFound(w, r)
		return
	}
	s.show(w, r, http.StatusOK, "product", p.Name, s.ask(r), p)
}

// added confirms that something was added to the cart. It is the paper's example of a
// page that does not depend on the session: it publishes the page view and goes on.
func (s *shop) added(w http.ResponseWriter, r *http.Request) { s.showAdded(w, r, s.tell(r)) }

// addedSync is the same page on the critical path, and counts as the same: whoever
// waited for statistics is suggested the cable, too.
func (s *shop) addedSync(w http.ResponseWriter, r *http.Request) {
	s.showAdded(w, r, s.askOf(r, (&url.URL{Path: "/added/" + r.PathValue("item")}).EscapedPath()))
}

// showAdded takes any item, as the paper's page does: what is not in the catalogue is
// named and drawn as a parcel.
func (s *shop) showAdded(w http.ResponseWriter, r *http.Request, a answers) {
	item := r.PathValue("item")
	p, known := lookUp(item)
	if !known {
		p = product{Item: item, Name: item, Tint: "tint-sand"}
	}
	lines, err := s.carts.lines(r.Context(), s.visitor(r.Context()))
	if err != nil {
		s.storeAway(w, r, err)
		return
	}
	drawing := drawings["parcel"]
	if known {
		drawing = p.Drawing()
	}
	s.show(w, r, http.StatusOK, "added", p.Name, a, struct {
		Product product
		Drawing template.HTML
		Known   bool
		InCart  bool
	}{p, drawing, known, slices.ContainsFunc(lines, func(l line) bool { return l.Item == item })})
}

// suggestion is what nine of ten buy after the combination that the microservice
// looks for: a television and its mount.
const suggestion = "hdmi-cable"

// confirmPurchase shows the cart, and what is missing from it.
func (s *shop) confirmPurchase(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	lines, err := s.carts.lines(ctx, s.visitor(ctx))
	if err != nil {
		s.storeAway(w, r, err)
		return
	}
	var combo bool
	a := s.ask(r, question{wire.Combo, "1", func(ctx context.Context, visitor string) (err error) {
		combo, err = s.web.Combo(ctx, visitor)
		return err
	}})
	var total cents
	for _, l := range lines {
		total += l.Sum()
		combo = combo && l.Item != suggestion
	}
	p, _ := lookUp(suggestion)
	s.show(w, r, http.StatusOK, "purchase", "Your cart", a, map[string]any{
		"Lines": lines, "Total": total, "Combo": combo, "Suggestion": p,
	})
}

// rawAnalytics shows what the microservice knows, as it comes.
func (s *shop) rawAnalytics(w http.ResponseWriter, r *http.Request) {
	a := s.ask(r)
	var text string
	if a.View != nil {
		b, err := json.MarshalIndent(a.View, "", "  ")
		if err != nil {
			panic(err) // numbers and booleans
		}
		text = string(b)
	}
	s.show(w, r, http.StatusOK, "analytics", "What the shop knows", a, map[string]any{
		"Text": text, "Visitor": s.visitor(r.Context()),
	})
}

// next are the pages that a form may lead to. The first two count as the
// paper's page views of an added item.
func nextAfterAdding(how, item string) string {
	switch how {
	case "sync":
		return "/added-sync/" + item
	case "cart":
		return "/confirm-purchase"
	default:
		return "/added/" + item
	}
}

func (s *shop) addToCart(w http.ResponseWriter, r *http.Request) {
	p, ok := lookUp(r.PostForm.Get("item"))
	if !ok {
		s.problem(w, r, http.StatusNotFound, "We do not sell that", "Nothing was added to your cart.")
		return
	}
	if err := s.carts.add(r.Context(), s.visitor(r.Context()), p.Item); err != nil {
		s.storeAway(w, r, err)
		return
	}
	http.Redirect(w, r, nextAfterAdding(r.PostForm.Get("how"), p.Item), http.StatusSeeOther)
}

func (s *shop) removeFromCart(w http.ResponseWriter, r *http.Request) {
	if err := s.carts.remove(r.Context(), s.visitor(r.Context()), r.PostForm.Get("item")); err != nil {
		s.storeAway(w, r, err)
		return
	}
	http.Redirect(w, r, "/confirm-purchase", http.StatusSeeOther)
}

func (s *shop) purchase(w http.ResponseWriter, r *http.Request) {
	ctx := r.Context()
	if err := s.carts.empty(ctx, s.visitor(ctx)); err != nil {
		s.storeAway(w, r, err)
		return
	}
	s.flash(ctx, "Thank you! This is a demonstration: nothing is charged, and nothing will arrive.")
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
