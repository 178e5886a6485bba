# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_nodeinit_global_optspecs
    string join \n h/help V/version
end

function __fish_nodeinit_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_nodeinit_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_nodeinit_using_subcommand
    set -l cmd (__fish_nodeinit_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c nodeinit -n "__fish_nodeinit_needs_command" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -s V -l version -d 'Print version'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "up" -d 'Bring this machine to the described state; continues where an earlier run stopped'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "plan" -d 'What `up` would do; changes nothing; exit code 2 where there is something to do'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "preflight" -d 'Every problem of this machine in one report, each with its remedy; changes nothing'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "status" -d 'Steps, health of the cluster\'s parts, nodes, certificates\' days left'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "reset" -d 'Undo what the journal says was made here'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "agent" -d 'Approve kubelets\' certificate requests until stopped; the service nodeinit-agent on masters runs it'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "config" -d 'Write, check and show the configuration'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "artifacts" -d 'List and fetch the programs and images that a cluster needs'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "secrets" -d 'The cluster\'s secrets, on the operator\'s side'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "token" -d 'Bootstrap tokens, with which machines join'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "addons" -d 'What the cluster may have beside what it cannot do without'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "certs" -d 'Certificates\' ends, and their renewal'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "etcd" -d 'The masters\' etcd'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "master" -d 'The other masters'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "worker" -d 'The workers'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "phase" -d 'One step alone, for people who debug or script'
complete -c nodeinit -n "__fish_nodeinit_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l new-cluster -d 'Bootstrap an empty etcd even without proof that the cluster is new; an existing cluster\'s data is lost'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l yes -d 'Do not ask whether to give the former cluster up'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l permit-stdin -d 'The provisioner\'s: read a permit to bootstrap etcd from standard input, one line of JSON'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l local -d 'Only this machine: on the first master, the others are left alone'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -l accept-clock -d 'Accept this machine\'s clock although an earlier run recorded a later time'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand up" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -l local -d 'Only this machine: on the first master, the others are left alone'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -l accept-clock -d 'Accept this machine\'s clock although an earlier run recorded a later time'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand plan" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand preflight" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand preflight" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand preflight" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand preflight" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand status" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand status" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand status" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand reset" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand reset" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand reset" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand reset" -l yes -d 'Do not ask'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand reset" -l force -d 'Even if the other masters\' etcd loses its quorum by it, or cannot be asked'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand reset" -l remove-aside -d 'Also delete etcd data that was moved aside (`nodeinit etcd aside list`)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand reset" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand agent" -l config -d 'The configuration, as `up` writes it for the service' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand agent" -l role -d 'This machine\'s role, if the configuration does not list the machine' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand agent" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and not __fish_seen_subcommand_from init validate show schema help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and not __fish_seen_subcommand_from init validate show schema help" -f -a "init" -d 'Write a configuration file that explains every key; asks on a terminal for what matters'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and not __fish_seen_subcommand_from init validate show schema help" -f -a "validate" -d 'Tell everything that is wrong in one report, or that nothing is'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and not __fish_seen_subcommand_from init validate show schema help" -f -a "show" -d 'The merged configuration, and which file set each value'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and not __fish_seen_subcommand_from init validate show schema help" -f -a "schema" -d 'The JSON Schema (draft 2020-12) of the configuration'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and not __fish_seen_subcommand_from init validate show schema help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from init" -l file -d 'The file to write' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from init" -l set -d 'A value, written as YAML, that is not asked for, such as network.podCIDR=10.1.0.0/16; repeat it' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from init" -l yes -d 'Ask nothing: what `--set` does not say stays at its default'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from init" -l force -d 'Replace the file if it is there'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from init" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from validate" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from validate" -l output -d 'How the answer is printed' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from validate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from show" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from show" -l output -d 'How the answer is printed' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from schema" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "init" -d 'Write a configuration file that explains every key; asks on a terminal for what matters'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "validate" -d 'Tell everything that is wrong in one report, or that nothing is'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "show" -d 'The merged configuration, and which file set each value'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "schema" -d 'The JSON Schema (draft 2020-12) of the configuration'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand config; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and not __fish_seen_subcommand_from list fetch export bundle inspect verify help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and not __fish_seen_subcommand_from list fetch export bundle inspect verify help" -f -a "list" -d 'List each program and image that a cluster with this configuration needs, and its source'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and not __fish_seen_subcommand_from list fetch export bundle inspect verify help" -f -a "fetch" -d 'Fetch them into a directory that serves as artifacts.source; an interrupted fetch resumes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and not __fish_seen_subcommand_from list fetch export bundle inspect verify help" -f -a "export" -d 'Export what this master has to a directory that serves as artifacts.source'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and not __fish_seen_subcommand_from list fetch export bundle inspect verify help" -f -a "bundle" -d 'Write the fetched artifacts to one file that serves as artifacts.source, with an index, digests and an optional signature'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and not __fish_seen_subcommand_from list fetch export bundle inspect verify help" -f -a "inspect" -d 'Show what a bundle contains; reads only its index'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and not __fish_seen_subcommand_from list fetch export bundle inspect verify help" -f -a "verify" -d 'Verify that a bundle is complete and undamaged, and who signed it'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and not __fish_seen_subcommand_from list fetch export bundle inspect verify help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from list" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from list" -l version -d 'Use this release of Kubernetes instead of kubernetes.version' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from list" -l output -d 'How the answer is printed' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from fetch" -l to -d 'The directory; it keeps the digests in artifacts.lock, and later fetches accept no others' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from fetch" -l registry-auth -d 'Read the logins of registries from a file as `docker login` writes it, mode 0600' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from fetch" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from fetch" -l version -d 'Use this release of Kubernetes instead of kubernetes.version' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from fetch" -l output -d 'How the answer is printed' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from fetch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from export" -l to -d 'The directory to write, which serves as artifacts.source: a new or an empty one, or that of an earlier export' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from export" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from export" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from export" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from bundle" -l output -d 'The file to write, whose name ends in .tar; it serves as artifacts.source' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from bundle" -l from -d 'The directory that `artifacts fetch` filled; if not given, artifacts.source' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from bundle" -l sign-key -d 'Sign the index with this private key: ed25519, in OpenSSH\'s format, without a passphrase' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from bundle" -l signature -d 'Add this signature of the index, which `ssh-keygen -Y sign -n nodeinit-bundle` made' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from bundle" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from bundle" -l version -d 'Use this release of Kubernetes instead of kubernetes.version' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from bundle" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from inspect" -l output -d 'How the answer is printed' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from verify" -l public-key -d 'The ed25519 public key that must have signed it, as in ~/.ssh/id_ed25519.pub' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from verify" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from help" -f -a "list" -d 'List each program and image that a cluster with this configuration needs, and its source'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from help" -f -a "fetch" -d 'Fetch them into a directory that serves as artifacts.source; an interrupted fetch resumes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from help" -f -a "export" -d 'Export what this master has to a directory that serves as artifacts.source'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from help" -f -a "bundle" -d 'Write the fetched artifacts to one file that serves as artifacts.source, with an index, digests and an optional signature'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from help" -f -a "inspect" -d 'Show what a bundle contains; reads only its index'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from help" -f -a "verify" -d 'Verify that a bundle is complete and undamaged, and who signed it'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand artifacts; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and not __fish_seen_subcommand_from generate inspect help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and not __fish_seen_subcommand_from generate inspect help" -f -a "generate" -d 'Generate a cluster\'s secrets: CAs and keys; never overwrites a file'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and not __fish_seen_subcommand_from generate inspect help" -f -a "inspect" -d 'Fingerprints, subjects and ends of what a bundle holds, never a secret'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and not __fish_seen_subcommand_from generate inspect help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from generate" -l file -d 'The bundle' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from generate" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from inspect" -l file -d 'The bundle' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from inspect" -l output -d 'How it is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from help" -f -a "generate" -d 'Generate a cluster\'s secrets: CAs and keys; never overwrites a file'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from help" -f -a "inspect" -d 'Fingerprints, subjects and ends of what a bundle holds, never a secret'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand secrets; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and not __fish_seen_subcommand_from create list delete help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and not __fish_seen_subcommand_from create list delete help" -f -a "create" -d 'Create a token and print it'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and not __fish_seen_subcommand_from create list delete help" -f -a "list" -d 'List tokens with their expiry, never their secrets'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and not __fish_seen_subcommand_from create list delete help" -f -a "delete" -d 'Revoke a token; it never becomes valid again'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and not __fish_seen_subcommand_from create list delete help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from create" -l ttl -d 'How long it is valid, such as 30m, 24h or 7d; by default 24h, for a worker 1h' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from create" -l description -d 'What it is for' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from create" -l worker -d 'Create the token of one worker of the configuration: revokes its earlier tokens; JSON output contains everything it needs to join' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from create" -l files -d 'Write that worker\'s /etc/nodeinit/config.yaml and secrets.yaml into this directory' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from create" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from create" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from create" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from create" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from list" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from list" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from list" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from list" -l all -d 'Also list tokens that were used, expired or were revoked'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from delete" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from delete" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from delete" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from delete" -l spent -d 'Delete the tokens of all workers that have joined'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from delete" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "create" -d 'Create a token and print it'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "list" -d 'List tokens with their expiry, never their secrets'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "delete" -d 'Revoke a token; it never becomes valid again'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand token; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and not __fish_seen_subcommand_from list apply remove help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and not __fish_seen_subcommand_from list apply remove help" -f -a "list" -d 'The addons, whether the configuration asks for them, and how they are'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and not __fish_seen_subcommand_from list apply remove help" -f -a "apply" -d 'Apply an addon and wait for it; without a name all that the configuration asks for'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and not __fish_seen_subcommand_from list apply remove help" -f -a "remove" -d 'Delete what was applied as an addon, and nothing else'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and not __fish_seen_subcommand_from list apply remove help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from list" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from list" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from list" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from apply" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from apply" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from apply" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from remove" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from remove" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from remove" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from help" -f -a "list" -d 'The addons, whether the configuration asks for them, and how they are'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from help" -f -a "apply" -d 'Apply an addon and wait for it; without a name all that the configuration asks for'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Delete what was applied as an addon, and nothing else'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand addons; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and not __fish_seen_subcommand_from check renew approve help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and not __fish_seen_subcommand_from check renew approve help" -f -a "check" -d 'When each certificate of this machine ends; exit code 1 where one has ended'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and not __fish_seen_subcommand_from check renew approve help" -f -a "renew" -d 'Sign certificates anew, for the keys that they have, with the CAs of this machine'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and not __fish_seen_subcommand_from check renew approve help" -f -a "approve" -d 'Approve a node\'s pending requests for serving certificates, with names that the agent does not know; on a master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and not __fish_seen_subcommand_from check renew approve help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from check" -l output -d 'How the list is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from renew" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from renew" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from renew" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from renew" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from approve" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from approve" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from approve" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from approve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from help" -f -a "check" -d 'When each certificate of this machine ends; exit code 1 where one has ended'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from help" -f -a "renew" -d 'Sign certificates anew, for the keys that they have, with the CAs of this machine'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from help" -f -a "approve" -d 'Approve a node\'s pending requests for serving certificates, with names that the agent does not know; on a master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand certs; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and not __fish_seen_subcommand_from members remove defrag alarms aside help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and not __fish_seen_subcommand_from members remove defrag alarms aside help" -f -a "members" -d 'The members: which vote, which leads, how they are'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and not __fish_seen_subcommand_from members remove defrag alarms aside help" -f -a "remove" -d 'Remove a member whose machine is gone, such as one that was added and never started'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and not __fish_seen_subcommand_from members remove defrag alarms aside help" -f -a "defrag" -d 'Shrink the members\' databases, one member at a time, the leader last'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and not __fish_seen_subcommand_from members remove defrag alarms aside help" -f -a "alarms" -d 'List etcd\'s alarms, or disarm those of full databases'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and not __fish_seen_subcommand_from members remove defrag alarms aside help" -f -a "aside" -d 'Manage etcd data on this machine that nodeinit moved aside'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and not __fish_seen_subcommand_from members remove defrag alarms aside help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from members" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from members" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from members" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from members" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from remove" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from remove" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from remove" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from remove" -l force -d 'Remove it even if it is healthy; ask etcd even if it would lose its quorum'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from defrag" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from defrag" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from defrag" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from defrag" -l compact -d 'First discard all former revisions; API servers and controllers then list all objects again'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from defrag" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from alarms" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from alarms" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from alarms" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from alarms" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from aside" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from aside" -f -a "list" -d 'List the data that was moved aside, with its size and the member that wrote it'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from aside" -f -a "remove" -d 'Delete data that was moved aside; it cannot be restored'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from aside" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from help" -f -a "members" -d 'The members: which vote, which leads, how they are'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Remove a member whose machine is gone, such as one that was added and never started'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from help" -f -a "defrag" -d 'Shrink the members\' databases, one member at a time, the leader last'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from help" -f -a "alarms" -d 'List etcd\'s alarms, or disarm those of full databases'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from help" -f -a "aside" -d 'Manage etcd data on this machine that nodeinit moved aside'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand etcd; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and not __fish_seen_subcommand_from add remove help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and not __fish_seen_subcommand_from add remove help" -f -a "add" -d 'Bring up one machine of the configuration, from the first master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and not __fish_seen_subcommand_from add remove help" -f -a "remove" -d 'Take one machine out of the cluster, from a master: its pods, its part in etcd, its node, its tokens'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and not __fish_seen_subcommand_from add remove help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from add" -l address -d 'Where to reach it, if the configuration does not have its address' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from add" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from add" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from add" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from remove" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from remove" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from remove" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from remove" -l force -d 'Even if etcd loses its quorum, and pods are lost that nothing makes anew'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from help" -f -a "add" -d 'Bring up one machine of the configuration, from the first master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Take one machine out of the cluster, from a master: its pods, its part in etcd, its node, its tokens'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand master; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and not __fish_seen_subcommand_from add remove help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and not __fish_seen_subcommand_from add remove help" -f -a "add" -d 'Bring up one machine of the configuration, from the first master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and not __fish_seen_subcommand_from add remove help" -f -a "remove" -d 'Take one machine out of the cluster, from a master: its pods, its part in etcd, its node, its tokens'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and not __fish_seen_subcommand_from add remove help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from add" -l address -d 'Where to reach it, if the configuration does not have its address' -r
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from add" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from add" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from add" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from add" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from remove" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from remove" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from remove" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from remove" -l force -d 'Even if etcd loses its quorum, and pods are lost that nothing makes anew'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from remove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from help" -f -a "add" -d 'Bring up one machine of the configuration, from the first master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from help" -f -a "remove" -d 'Take one machine out of the cluster, from a master: its pods, its part in etcd, its node, its tokens'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand worker; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and not __fish_seen_subcommand_from list run help" -s h -l help -d 'Print help'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and not __fish_seen_subcommand_from list run help" -f -a "list" -d 'The steps of this machine\'s role, in order; as JSON each with what it needs'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and not __fish_seen_subcommand_from list run help" -f -a "run" -d 'Run one step; those that it needs must be done'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and not __fish_seen_subcommand_from list run help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from list" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from list" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from list" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from run" -l config -d 'A configuration file over /etc/nodeinit/config.yaml and /etc/nodeinit/conf.d/*.yaml; repeat it, the later wins' -r -F
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from run" -l role -d 'This machine\'s role; by default the configuration tells it' -r -f -a "first-master\t''
master\t''
worker\t''"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from run" -l output -d 'How progress is shown' -r -f -a "text\t'For people'
json\t'One JSON object a line'"
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from run" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from help" -f -a "list" -d 'The steps of this machine\'s role, in order; as JSON each with what it needs'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from help" -f -a "run" -d 'Run one step; those that it needs must be done'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand phase; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status reset agent config artifacts secrets token addons certs etcd master worker phase help" -f -a "up" -d 'Bring this machine to the described state; continues where an earlier run stopped'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status reset agent config artifacts secrets token addons certs etcd master worker phase help" -f -a "plan" -d 'What `up` would do; changes nothing; exit code 2 where there is something to do'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status reset agent config artifacts secrets token addons certs etcd master worker phase help" -f -a "preflight" -d 'Every problem of this machine in one report, each with its remedy; changes nothing'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status reset agent config artifacts secrets token addons certs etcd master worker phase help" -f -a "status" -d 'Steps, health of the cluster\'s parts, nodes, certificates\' days left'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status reset agent config artifacts secrets token addons certs etcd master worker phase help" -f -a "reset" -d 'Undo what the journal says was made here'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status reset agent config artifacts secrets token addons certs etcd master worker phase help" -f -a "agent" -d 'Approve kubelets\' certificate requests until stopped; the service nodeinit-agent on masters runs it'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status reset agent config artifacts secrets token addons certs etcd master worker phase help" -f -a "config" -d 'Write, check and show the configuration'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status reset agent config artifacts secrets token addons certs etcd master worker phase help" -f -a "artifacts" -d 'List and fetch the programs and images that a cluster needs'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status reset agent config artifacts secrets token addons certs etcd master worker phase help" -f -a "secrets" -d 'The cluster\'s secrets, on the operator\'s side'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status reset agent config artifacts secrets token addons certs etcd master worker phase help" -f -a "token" -d 'Bootstrap tokens, with which machines join'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status reset agent config artifacts secrets token addons certs etcd master worker phase help" -f -a "addons" -d 'What the cluster may have beside what it cannot do without'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status reset agent config artifacts secrets token addons certs etcd master worker phase help" -f -a "certs" -d 'Certificates\' ends, and their renewal'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status reset agent config artifacts secrets token addons certs etcd master worker phase help" -f -a "etcd" -d 'The masters\' etcd'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status reset agent config artifacts secrets token addons certs etcd master worker phase help" -f -a "master" -d 'The other masters'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status reset agent config artifacts secrets token addons certs etcd master worker phase help" -f -a "worker" -d 'The workers'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status reset agent config artifacts secrets token addons certs etcd master worker phase help" -f -a "phase" -d 'One step alone, for people who debug or script'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and not __fish_seen_subcommand_from up plan preflight status reset agent config artifacts secrets token addons certs etcd master worker phase help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "init" -d 'Write a configuration file that explains every key; asks on a terminal for what matters'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "validate" -d 'Tell everything that is wrong in one report, or that nothing is'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "show" -d 'The merged configuration, and which file set each value'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from config" -f -a "schema" -d 'The JSON Schema (draft 2020-12) of the configuration'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from artifacts" -f -a "list" -d 'List each program and image that a cluster with this configuration needs, and its source'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from artifacts" -f -a "fetch" -d 'Fetch them into a directory that serves as artifacts.source; an interrupted fetch resumes'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from artifacts" -f -a "export" -d 'Export what this master has to a directory that serves as artifacts.source'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from artifacts" -f -a "bundle" -d 'Write the fetched artifacts to one file that serves as artifacts.source, with an index, digests and an optional signature'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from artifacts" -f -a "inspect" -d 'Show what a bundle contains; reads only its index'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from artifacts" -f -a "verify" -d 'Verify that a bundle is complete and undamaged, and who signed it'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from secrets" -f -a "generate" -d 'Generate a cluster\'s secrets: CAs and keys; never overwrites a file'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from secrets" -f -a "inspect" -d 'Fingerprints, subjects and ends of what a bundle holds, never a secret'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "create" -d 'Create a token and print it'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "list" -d 'List tokens with their expiry, never their secrets'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from token" -f -a "delete" -d 'Revoke a token; it never becomes valid again'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from addons" -f -a "list" -d 'The addons, whether the configuration asks for them, and how they are'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from addons" -f -a "apply" -d 'Apply an addon and wait for it; without a name all that the configuration asks for'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from addons" -f -a "remove" -d 'Delete what was applied as an addon, and nothing else'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from certs" -f -a "check" -d 'When each certificate of this machine ends; exit code 1 where one has ended'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from certs" -f -a "renew" -d 'Sign certificates anew, for the keys that they have, with the CAs of this machine'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from certs" -f -a "approve" -d 'Approve a node\'s pending requests for serving certificates, with names that the agent does not know; on a master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from etcd" -f -a "members" -d 'The members: which vote, which leads, how they are'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from etcd" -f -a "remove" -d 'Remove a member whose machine is gone, such as one that was added and never started'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from etcd" -f -a "defrag" -d 'Shrink the members\' databases, one member at a time, the leader last'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from etcd" -f -a "alarms" -d 'List etcd\'s alarms, or disarm those of full databases'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from etcd" -f -a "aside" -d 'Manage etcd data on this machine that nodeinit moved aside'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from master" -f -a "add" -d 'Bring up one machine of the configuration, from the first master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from master" -f -a "remove" -d 'Take one machine out of the cluster, from a master: its pods, its part in etcd, its node, its tokens'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from worker" -f -a "add" -d 'Bring up one machine of the configuration, from the first master'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from worker" -f -a "remove" -d 'Take one machine out of the cluster, from a master: its pods, its part in etcd, its node, its tokens'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from phase" -f -a "list" -d 'The steps of this machine\'s role, in order; as JSON each with what it needs'
complete -c nodeinit -n "__fish_nodeinit_using_subcommand help; and __fish_seen_subcommand_from phase" -f -a "run" -d 'Run one step; those that it needs must be done'
