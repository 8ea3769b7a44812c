// Starts what a page can do with a script: each element names its module. Every page is complete
// without them.
document.querySelectorAll("[data-script]").forEach(async (place) => {
  const { start } = await import(`./${place.dataset.script}.js`);
  start(place);
});
