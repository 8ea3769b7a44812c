
const address = document.documentElement.dataset.parts, part = location.hash.slice(1);
const escaped = address.endsWith("=") ? part.replaceAll("&", "%26").replaceAll("+", "%2B") : part;
if (part && !/^(?:about|assertions|cite|cited|contents|document|frames|identity|locations|machines|pages|passage|picture|play|quote|rows|text|use|versions|waveform)$/.test(part))
  location.replace(address + escaped);
