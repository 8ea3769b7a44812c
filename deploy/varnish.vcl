# Varnish in front of perdure: a cache for what never changes, with targets passed on verbatim.
#
#     varnishd -a :80 -f /etc/varnish/perdure.vcl -s malloc,1g \
#              -p http_req_size=96k -p http_req_hdr_len=32k \
#              -p workspace_client=192k -p workspace_backend=192k
#     perdure doctor http://resolver.example
#
# The sizes let targets of 16 KiB through. TLS belongs in front of it (hitch, for example). All that
# perdure can be asked survives, absolute forms, raw "#" and TRACE included; only the absolute form
# of http itself arrives as its path, which means the same.

vcl 4.1;

backend perdure {
    .host = "127.0.0.1";
    .port = "8080";
}

sub vcl_recv {
    # others would become a pipe, in which Varnish no longer sees what passes
    if (req.method !~ "^(GET|HEAD|OPTIONS|TRACE|PUT|POST|DELETE)$") {
        return (synth(501));
    }
    if (req.method != "GET" && req.method != "HEAD") {
        return (pass);
    }
    # how busy the resolver is, and how much it holds, concerns only the operator: ask port 8080
    if (req.url ~ "^(https?://[^/]*)?/metrics([?#]|$)") {
        return (synth(403));
    }
    # what is for one caller alone; and a doctor asks what reaches the resolver, not the cache
    if (req.http.Authorization || req.http.Perdure-Echo) {
        return (pass);
    }
    # the target is the identifier: it is not sorted, shortened or unescaped here
    return (hash);
}

sub vcl_backend_response {
    # perdure says how long an answer may be kept: a document of a fixed version, for ever. What it
    # says nothing about is not kept, instead of Varnish's two minutes.
    if (beresp.http.Cache-Control !~ "max-age") {
        set beresp.uncacheable = true;
        return (deliver);
    }
}
