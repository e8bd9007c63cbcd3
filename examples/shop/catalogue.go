package main

import (
	"embed"
	"fmt"
	"html/template"
)

//go:embed drawings/*.svg
var drawingFiles embed.FS

// drawings are trusted markup of our own, by name.
var drawings = readDrawings()

func readDrawings() map[string]template.HTML {
	entries, err := drawingFiles.ReadDir("drawings")
	if err != nil {
		panic(err) // the files are part of the program
	}
	all := map[string]template.HTML{}
	for _, e := range entries {
		text, err := drawingFiles.ReadFile("drawings/" + e.Name())
		if err != nil {
			panic(err)
		}
		all[e.Name()[:len(e.Name())-len(".svg")]] = template.HTML(text)
	}
	return all
}

// cents is an amount of money.
type cents int64

func (c cents) String() string { return fmt.Sprintf("€%d.%02d", c/100, c%100) }

// product is a thing for sale. Item is its name in paths, as the paper has them:
// /added/tv.
type product struct {
	Item  string
	Name  string
	Line  string // one sentence beside the name
	Story string // a paragraph on its own page
	Price cents
	Tint  string // the class of the background behind the drawing
}

// Path is the product's page.
func (p product) Path() string { return "/product/" + p.Item }

// Drawing is the product's picture.
func (p product) Drawing() template.HTML { return drawings[p.Item] }

// catalogue is what the shop sells, in the order of its shelves.
var catalogue = []product{
	{Item: "tv", Name: "Dusk television", Line: "55 inches that know how dark your room is.", Price: 649_00, Tint: "tint-plum",
		Story: "A screen that dims with the evening instead of fighting it. Four inputs, one remote with nine keys, and a stand that you will not need once you have seen it on a wall."},
	{Item: "tv-mount", Name: "Swing wall mount", Line: "Turns the picture to wherever you ended up sitting.", Price: 79_00, Tint: "tint-sand",
		Story: "Two arms, forty-five degrees each way, thirty-five kilograms. Six bolts, a level and a paper template are in the box; the courage to drill is yours."},
	{Item: "hdmi-cable", Name: "Braided HDMI cable", Line: "Three metres, because two never reach.", Price: 19_00, Tint: "tint-sage",
		Story: "Woven, so that it hangs quietly along the wall. Carries 4K at 120 pictures a second. Nine of ten people who hang a television on a wall come back for one."},
	{Item: "soundbar", Name: "Hearth soundbar", Line: "Voices in the middle, rain at the sides.", Price: 189_00, Tint: "tint-clay",
		Story: "A night mode keeps dialogue clear and explosions polite, so that the neighbours stay friends. One cable to the television, none across the room."},
	{Item: "headphones", Name: "Hush headphones", Line: "Forty hours of nobody else.", Price: 149_00, Tint: "tint-mist",
		Story: "Soft on the ears, firm with the outside world. They fold flat, charge during one cup of tea, and have a real switch."},
	{Item: "lamp", Name: "Harvest moon lamp", Line: "A full moon on every day of the month.", Price: 59_00, Tint: "tint-plum",
		Story: "Warm light that gets warmer as it dims. Touch it once for reading, twice for talking, hold it to fade out within a quarter of an hour."},
	{Item: "turntable", Name: "Slow turntable", Line: "Makes you get up every twenty minutes.", Price: 239_00, Tint: "tint-mist",
		Story: "Belt drive, walnut plinth, and an arm that lifts by itself when you have fallen asleep on side B."},
	{Item: "teapot", Name: "Midnight teapot", Line: "Holds one film, or two if they are short.", Price: 34_00, Tint: "tint-sage",
		Story: "A litre and a half of stoneware with a lid that stays on when you pour. The night sky is glazed on by hand, so no two have the same stars."},
}

// lookUp returns the product of that name.
func lookUp(item string) (product, bool) {
	for _, p := range catalogue {
		if p.Item == item {
			return p, true
		}
	}
	return product{}, false
}
